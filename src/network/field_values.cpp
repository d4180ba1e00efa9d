#include "network/field_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "network/values.hpp"

namespace scalecalc {
namespace {

using Type = ModelField::Type;

const char* expected(Type type) {
  switch (type) {
    case Type::integer: return "an integer";
    case Type::number: return "a number";
    case Type::flag: return "true or false";
    case Type::name: return "a name";
    case Type::formula: break;
    case Type::scale: return "a number, a formula or auto";
  }
  return "a number or a formula";
}

const char* kind_of(const FieldValue& value) {
  static constexpr std::array<const char*, 5> kinds = {"an integer", "a number", "true or false",
                                                       "a name", "a formula"};
  return kinds.at(value.index());
}

/// The value as one of the type, if it can be.
std::optional<FieldValue> converted(Type type, const FieldValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  const auto* text = std::get_if<std::string>(&value);
  switch (type) {
    case Type::integer: return integer ? std::optional(value) : std::nullopt;
    case Type::number:
      if (integer) return static_cast<double>(*integer);
      return number ? std::optional(value) : std::nullopt;
    case Type::flag:
      return std::holds_alternative<bool>(value) ? std::optional(value) : std::nullopt;
    case Type::name: return text ? std::optional(value) : std::nullopt;
    case Type::scale:
      if (text && *text == "auto") return value;
      [[fallthrough]];
    case Type::formula: break;
  }
  if (integer) return Expr(*integer);
  if (number) return Expr(Rational::shortest(*number));
  return std::holds_alternative<Expr>(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string ModelField::full_name() const {
  return section == "model" ? key : section + "." + key;
}

std::string ModelField::option_name() const {
  std::string dashed = "--" + name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

std::string ModelField::help_with_default(const ModelSpec& defaults) const {
  if (help.find("default") != std::string::npos || !belongs_to(defaults.kind) ||
      !is_written(defaults))
    return help;
  const FieldValue value = get(defaults);
  if (type == Type::flag) return std::get<bool>(value) ? help + " (default)" : help;
  const std::string* name_held = std::get_if<std::string>(&value);
  return fmt::format("{} (default {})", help, name_held ? *name_held : field_text(value));
}

void ModelField::set(ModelSpec& spec, const FieldValue& value, const std::string& where) const {
  const std::optional<FieldValue> fitting = converted(type, value);
  if (!fitting)
    throw Error(ErrorKind::input,
                fmt::format("{} must be {}, got {}", name, expected(type), kind_of(value)), where,
                fmt::format("for example {}", example.empty() ? "true" : example));
  assign(spec, *fitting, where);
}

FieldValue field_value(const ModelField& field, const TomlEntry& entry) {
  switch (field.type) {
    case Type::integer: return integer_of(entry);
    case Type::number: return number_of(entry);
    case Type::flag: return boolean_of(entry);
    case Type::name: return text_of(entry);
    case Type::scale: {
      const auto* text = std::get_if<std::string>(&entry.value);
      if (text != nullptr && *text == "auto") return *text;
      break;
    }
    case Type::formula: break;
  }
  return formula_of(entry, field.symbols);
}

std::string field_text(const FieldValue& value) {
  return std::visit([](const auto& held) { return write_value(held); }, value);
}

}  // namespace scalecalc
