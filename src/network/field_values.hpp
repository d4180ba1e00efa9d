#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "network/entry.hpp"
#include "scalecalc/model_fields.hpp"

/// Members of a ModelSpec as values of fields, and back.
namespace scalecalc {

std::string to_string(InputKind kind);
std::string to_string(Loss loss);
std::string to_string(Reduction reduction);
std::string to_string(Pooling pooling);
std::string to_string(AdaptiveNorm modulation);
std::string to_string(RotaryScaling scaling);

/// Every name of an enumeration.
std::vector<std::string> known_names(ModelSpec::Kind);
std::vector<std::string> known_names(Placement);
std::vector<std::string> known_names(NormKind);
std::vector<std::string> known_names(Distribution);
std::vector<std::string> known_names(InputKind);
std::vector<std::string> known_names(Loss);
std::vector<std::string> known_names(Reduction);
std::vector<std::string> known_names(Pooling);
std::vector<std::string> known_names(AdaptiveNorm);
std::vector<std::string> known_names(RotaryScaling);

/// Throw Error(input) with the nearest name.
void from_name(const std::string& name, const std::string& where, std::string& value);
void from_name(const std::string& name, const std::string& where, ModelSpec::Kind& value);
void from_name(const std::string& name, const std::string& where, Placement& value);
void from_name(const std::string& name, const std::string& where, NormKind& value);
void from_name(const std::string& name, const std::string& where, Distribution& value);
void from_name(const std::string& name, const std::string& where, InputKind& value);
void from_name(const std::string& name, const std::string& where, Loss& value);
void from_name(const std::string& name, const std::string& where, Reduction& value);
void from_name(const std::string& name, const std::string& where, Pooling& value);
void from_name(const std::string& name, const std::string& where, AdaptiveNorm& value);
void from_name(const std::string& name, const std::string& where, RotaryScaling& value);
void from_name(const std::string& name, const std::string& where, DropoutPlaces& value);

template <class Value>
constexpr ModelField::Type field_type() {
  using Type = ModelField::Type;
  if (std::is_same_v<Value, std::int64_t>) return Type::integer;
  if (std::is_same_v<Value, double>) return Type::number;
  if (std::is_same_v<Value, bool>) return Type::flag;
  if (std::is_same_v<Value, Expr>) return Type::formula;
  return std::is_same_v<Value, std::optional<Expr>> ? Type::scale : Type::name;
}

template <class Value>
FieldValue to_field(const Value& value) {
  if constexpr (std::is_same_v<Value, std::optional<Expr>>)
    return value ? FieldValue(*value) : FieldValue(std::string("auto"));
  else if constexpr (std::is_constructible_v<FieldValue, Value> && !std::is_enum_v<Value>)
    return FieldValue(value);
  else
    return to_string(value);
}

/// `value` is of the field's type.
template <class Value>
void from_field(const FieldValue& value, const std::string& where, Value& member) {
  if constexpr (field_type<Value>() == ModelField::Type::name) {
    from_name(std::get<std::string>(value), where, member);
  } else if constexpr (std::is_same_v<Value, std::optional<Expr>>) {
    if (std::holds_alternative<Expr>(value))
      member = std::get<Expr>(value);
    else
      member.reset();
  } else {
    member = std::get<Value>(value);
  }
}

/// The value of an entry of a model file, of the field's type. Throws Error(input) at the entry.
FieldValue field_value(const ModelField& field, const TomlEntry& entry);
/// As it is written behind the = of a model file; empty: left out.
std::string field_text(const FieldValue& value);

}  // namespace scalecalc
