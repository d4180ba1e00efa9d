#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t kDeepest = 1000000;
constexpr std::size_t kMostDepths = 64;
constexpr int kBoundDigits = 12;  // 1 - 1e-9 is not 1

std::string got(const std::string& text) {
  return text.empty() ? "got nothing" : "got '" + base::shortened(text) + "'";
}

Error bad_value(const std::string& option, const std::string& must_be, const std::string& text,
                const std::string& example) {
  return Error(ErrorKind::input, option + " must be " + must_be, got(text),
               "for example " + option + " " + example);
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "2.5", or a fraction "9/16".
std::optional<double> read_fraction(std::string_view text) {
  const std::size_t bar = text.find('/');
  if (bar == std::string_view::npos) return read_number<double>(text);
  const auto top = read_number<double>(text.substr(0, bar));
  const auto bottom = read_number<double>(text.substr(bar + 1));
  if (!top || !bottom || *bottom == 0) return std::nullopt;
  return *top / *bottom;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

std::optional<std::int64_t> read_depth(std::string_view text) {
  const auto depth = read_number<std::int64_t>(text);
  return depth && *depth >= 1 && *depth <= kDeepest ? depth : std::nullopt;
}

/// "FROM:TO:xFACTOR".
std::optional<std::vector<std::int64_t>> read_geometric(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3 || parts[2].size() < 2 || parts[2][0] != 'x') return std::nullopt;
  const auto from = read_depth(parts[0]), to = read_depth(parts[1]);
  const auto factor = read_depth(std::string_view(parts[2]).substr(1));
  if (!from || !to || !factor || *factor < 2 || *to < *from) return std::nullopt;
  std::vector<std::int64_t> depths;
  for (std::int64_t depth = *from; depth <= *to; depth *= *factor) depths.push_back(depth);
  return depths;
}

std::optional<std::vector<std::int64_t>> read_list(const std::string& text) {
  std::vector<std::int64_t> depths;
  for (const std::string& part : split(text, ',')) {
    const auto depth = read_depth(part);
    if (!depth) return std::nullopt;
    depths.push_back(*depth);
  }
  std::sort(depths.begin(), depths.end());
  const bool repeated = std::adjacent_find(depths.begin(), depths.end()) != depths.end();
  return repeated ? std::nullopt : std::optional(depths);
}

/// `standard` is what the variable begins with.
CLI::Option* shape(const Options& options, CLI::Option* option, const ValueType& type,
                   const std::string& standard = {}) {
  option->type_name(type.placeholder);
  if (!options.group.empty()) option->group(options.group);
  if (auto* command = dynamic_cast<Command*>(options.app)) {
    command->types.emplace(option, type);
    if (!standard.empty()) command->defaults.emplace(option, standard);
  }
  return option;
}

/// What `add` adds to the command.
template <class Add>
CLI::Option* added(const Options& options, const Add& add) {
  auto* command = dynamic_cast<Command*>(options.app);
  return command == nullptr ? add() : command->adding(add);
}
template <class Value>
CLI::Option* added_option(const Options& options, const std::string& names, Value& value,
                          const std::string& help) {
  return added(options, [&] { return options.app->add_option(names, value, help); });
}
template <class Value>
CLI::Option* added_flag(const Options& options, const std::string& names, Value& value,
                        const std::string& help) {
  return added(options, [&] { return options.app->add_flag(names, value, help); });
}

/// "--kv-heads" as the field "kv_heads".
std::string field_name(const std::string& option) {
  std::string name = option.substr(option.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Nothing of a command that takes no lists.
void declare_axis(const Options& options, CLI::Option* option, std::string& value) {
  auto* command = dynamic_cast<Command*>(options.app);
  if (command == nullptr || !command->takes_lists) return;
  std::string shown = option->get_name();
  if (option->get_positional()) {
    option->expected(1, CLI::detail::expected_max_vector_size);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args();
    shown = command->types.at(option).placeholder;
  }
  command->axes.push_back({field_name(option->get_name()), shown, option, &value});
}

CLI::Option* shape_flag(const Options& options, CLI::Option* option) {
  if (!options.group.empty()) option->group(options.group);
  return option;
}

}  // namespace

void Options::text(const std::string& names, std::string& value, const ValueType& type,
                   const std::string& help) const {
  shape(*this, added_option(*this, names, value, help), type, value);
}

void Options::text(const std::string& names, std::optional<std::string>& value,
                   const ValueType& type, const std::string& help) const {
  shape(*this, added_option(*this, names, value, help), type);
}

void Options::axis(const std::string& names, std::string& value, const ValueType& type,
                   const std::string& help) const {
  declare_axis(*this, shape(*this, added_option(*this, names, value, help), type, value), value);
}

void Options::texts(const std::string& names, std::vector<std::string>& values,
                    const ValueType& type, const std::string& help) const {
  shape(*this, added_option(*this, names, values, help), type);
}

void Options::repeated(const std::string& names, std::vector<std::string>& values,
                       const ValueType& type, const std::string& help) const {
  shape(*this, added_option(*this, names, values, help), type)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Options::flag_axis(const std::string& names, std::string& value,
                        const std::string& help) const {
  declare_axis(*this, shape_flag(*this, added_flag(*this, names, value, help)), value);
}

void Options::flag(const std::string& names, bool& value, const std::string& help,
                   const std::function<void()>& given) const {
  CLI::Option* option = shape_flag(*this, added_flag(*this, names, value, help));
  if (given) option->each([given](const std::string&) { given(); });
}

std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t min,
                           std::int64_t max, const std::string& example) {
  const auto number = read_number<std::int64_t>(text);
  if (number && *number >= min && *number <= max) return *number;
  throw bad_value(option, fmt::format("an integer from {} to {}", min, max), text, example);
}

double parse_number(const std::string& option, const std::string& text, double min, double max,
                    const std::string& example) {
  const auto number = read_fraction(text);
  if (number && std::isfinite(*number) && *number >= min && *number <= max) return *number;
  throw bad_value(option,
                  fmt::format("a number from {} to {}", report::format_number(min, kBoundDigits),
                              report::format_number(max, kBoundDigits)),
                  text, example);
}

std::pair<std::string, std::string> each_of_two(const std::string& text) {
  for (std::size_t plus = text.find('+', 1); plus != std::string::npos;
       plus = text.find('+', plus + 1))
    if (text[plus - 1] != 'e' && text[plus - 1] != 'E')
      return {text.substr(0, plus), text.substr(plus + 1)};
  return {text, text};
}

std::int64_t parse_layers(const std::string& option, const std::string& text) {
  return parse_integer(option, text, 1, kDeepest, "12");
}

std::vector<std::int64_t> parse_depths(const std::string& option, const std::string& text) {
  const bool range = text.find(':') != std::string::npos;
  const auto depths = range ? read_geometric(text) : read_list(text);
  if (depths && depths->size() <= kMostDepths) return *depths;
  throw bad_value(option,
                  fmt::format("up to {} different integers from 1 to {}, or FROM:TO:xFACTOR",
                              kMostDepths, kDeepest),
                  text, "2,8,32,128 or " + option + " 2:128:x4");
}

Expr parse_formula(const std::string& option, const std::string& text,
                   const std::vector<std::string>& symbols) {
  ParseOptions options;
  options.known_symbols = symbols;
  options.where = option;
  return parse(text, options);
}

std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  throw unknown_name("value", text, names, option);
}

}  // namespace scalecalc::cli
