#include "network/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "network/field_values.hpp"

namespace scalecalc {
namespace {

template <class Value>
using Choices = std::vector<std::pair<std::string, Value>>;

const Choices<WeightNorm>& weight_norms() {
  static const Choices<WeightNorm> all = {{"none", WeightNorm::none},
                                          {"spectral", WeightNorm::spectral},
                                          {"demodulated", WeightNorm::demodulated}};
  return all;
}

template <class Value>
Value choose(const Choices<Value>& choices, const char* what, const TomlEntry& entry) {
  const std::string& name = text_of(entry);
  std::vector<std::string> known;
  for (const auto& [choice, value] : choices) {
    if (choice == name) return value;
    known.push_back(choice);
  }
  throw unknown_name(what, name, known, entry.where);
}

template <class Value>
std::string chosen(const Choices<Value>& choices, Value wanted) {
  for (const auto& [choice, value] : choices)
    if (value == wanted) return quoted(choice);
  return {};
}

}  // namespace

void read_value(const TomlEntry& entry, std::int64_t& value) {
  value = integer_of(entry);
}
void read_value(const TomlEntry& entry, double& value) {
  value = number_of(entry);
}
void read_value(const TomlEntry& entry, bool& value) {
  value = boolean_of(entry);
}
void read_value(const TomlEntry& entry, std::string& value) {
  value = text_of(entry);
}
void read_value(const TomlEntry& entry, NormKind& value) {
  value = norm_from(text_of(entry), entry.where);
}
void read_value(const TomlEntry& entry, Distribution& value) {
  value = distribution_from(text_of(entry), entry.where);
}
void read_value(const TomlEntry& entry, WeightNorm& value) {
  value = choose(weight_norms(), "weight norm", entry);
}
void read_value(const TomlEntry& entry, RotaryScaling& value) {
  from_name(text_of(entry), entry.where, value);
}

std::string write_value(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string write_value(double value) {
  return fmt::format("{}", value);
}
std::string write_value(bool value) {
  return value ? "true" : "false";
}
std::string write_value(const std::string& value) {
  return value.empty() ? std::string() : quoted(value);
}
std::string write_value(NormKind value) {
  return quoted(to_string(value));
}
std::string write_value(Distribution value) {
  return quoted(to_string(value));
}
std::string write_value(RotaryScaling value) {
  return quoted(to_string(value));
}
std::string write_value(WeightNorm value) {
  return chosen(weight_norms(), value);
}
/// Integers bare, what is not an integer as a formula, so that it stays exact.
std::string write_value(const Expr& value) {
  const bool integer = value.is_number() && value.number().to_int64().has_value();
  return integer ? to_string(value) : quoted(to_string(value));
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      out += c;
  }
  return out + '"';
}

Error unknown_key(const TomlEntry& entry, const std::vector<std::string>& known, bool is_elsewhere,
                  const std::string& kind_name) {
  // What a model has a kind of, a layer has a type of.
  for (const auto& [said, meant] : {std::pair{"type", "kind"}, {"kind", "type"}})
    if (entry.key == said && std::find(known.begin(), known.end(), meant) != known.end())
      return Error(
          ErrorKind::input, fmt::format("unknown key '{}'", said), entry.where,
          fmt::format("did you mean '{}'? {}", meant, "[model] has a kind, [[layer]] a type"));
  if (!is_elsewhere) return unknown_name("key", entry.key, known, entry.where);
  return Error(ErrorKind::input,
               fmt::format("key '{}' does not belong to {}", entry.key, kind_name), entry.where,
               fmt::format("its keys: {}", fmt::join(known, ", ")));
}

}  // namespace scalecalc
