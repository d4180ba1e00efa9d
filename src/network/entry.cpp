#include "network/entry.hpp"

#include <fmt/format.h>

#include <cmath>
#include "base/text.hpp"

namespace scalecalc {
namespace {

Error wrong_type(const TomlEntry& entry, const char* expected, const char* example) {
  return {ErrorKind::input, fmt::format("{} must be {}, got {}", entry.key, expected, entry.type),
          entry.where, fmt::format("for example {} = {}", entry.key, example)};
}

}  // namespace

std::int64_t integer_of(const TomlEntry& entry) {
  if (const auto* value = std::get_if<std::int64_t>(&entry.value)) return *value;
  throw wrong_type(entry, "an integer", "12");
}

double number_of(const TomlEntry& entry) {
  if (const auto* value = std::get_if<std::int64_t>(&entry.value))
    return static_cast<double>(*value);
  const auto* value = std::get_if<double>(&entry.value);
  if (value == nullptr) throw wrong_type(entry, "a number", "0.5");
  if (!std::isfinite(*value))
    throw Error(ErrorKind::input,
                fmt::format("{} must be a finite number, got {}", entry.key, *value), entry.where,
                fmt::format("for example {} = 0.5", entry.key));
  return *value;
}

bool boolean_of(const TomlEntry& entry) {
  if (const auto* value = std::get_if<bool>(&entry.value)) return *value;
  throw wrong_type(entry, "true or false", "false");
}

const std::string& text_of(const TomlEntry& entry) {
  if (const auto* value = std::get_if<std::string>(&entry.value)) return *value;
  throw wrong_type(entry, "a string", "\"...\"");
}

const TomlTable& table_of(const TomlEntry& entry) {
  if (const auto* value = std::get_if<TomlTable>(&entry.value)) return *value;
  throw Error(ErrorKind::input,
              fmt::format("{} must be a table, got {}", base::shortened(entry.key), entry.type),
              entry.where,
              fmt::format("write [{}], and its keys below", base::shortened(entry.key)));
}

const std::vector<TomlElement>& tables_of(const TomlEntry& entry) {
  if (const auto* value = std::get_if<std::vector<TomlElement>>(&entry.value)) return *value;
  throw Error(
      ErrorKind::input,
      fmt::format("{} must be a list of tables, got {}", base::shortened(entry.key), entry.type),
      entry.where, fmt::format("write [[{}]] before each of them", base::shortened(entry.key)));
}

Expr formula_of(const TomlEntry& entry, const std::vector<std::string>& symbols) {
  if (const auto* value = std::get_if<std::int64_t>(&entry.value)) return Expr(*value);
  if (std::holds_alternative<double>(entry.value))
    return Expr(Rational::parse(fmt::format("{}", number_of(entry))));
  const auto* text = std::get_if<std::string>(&entry.value);
  if (text == nullptr) throw wrong_type(entry, "a number or a formula", "\"(2*N)^(1/2)\"");
  ParseOptions options;
  options.known_symbols = symbols;
  options.where = entry.where;
  try {
    return parse(*text, options);
  } catch (const Error& error) {
    if (!error.hint().empty()) throw;
    throw Error(error.kind(), error.message(), error.where(),
                fmt::format("write a number or a formula in {}", fmt::join(symbols, ", ")));
  }
}

}  // namespace scalecalc
