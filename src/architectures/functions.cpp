#include "architectures/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "architectures/rope.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

using Binary = double (*)(double, double);

/// A whole number stays one, so that equal sizes are equal values.
Value of_number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15)
    return static_cast<std::int64_t>(value);
  return value;
}

[[noreturn]] void fail(const Expression& call, const std::string& why) {
  throw Error(ErrorKind::input, base::shortened(call.text()) + " " + why);
}

double checked(double value, const Expression& call) {
  if (!std::isfinite(value)) fail(call, "is no finite number");
  return value;
}

const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> all = {
      {"+", [](double a, double b) { return a + b; }},
      {"-", [](double a, double b) { return a - b; }},
      {"*", [](double a, double b) { return a * b; }},
      {"/", [](double a, double b) { return a / b; }},
      {"//", [](double a, double b) { return std::floor(a / b); }},
      {"%", [](double a, double b) { return a - b * std::floor(a / b); }},
      {"**", [](double a, double b) { return std::pow(a, b); }},
      {"<", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {">", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"<=", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {">=", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"min", [](double a, double b) { return std::min(a, b); }},
      // The next multiple of b.
      {"up_to", [](double a, double b) { return std::ceil(a / b) * b; }},
  };
  return all;
}

const std::map<std::string, double (*)(double)>& unaries() {
  static const std::map<std::string, double (*)(double)> all = {
      {"negative", [](double a) { return -a; }},
      {"sqrt", [](double a) { return std::sqrt(a); }},
      {"ceil", [](double a) { return std::ceil(a); }},
      {"int", [](double a) { return std::trunc(a); }},
      {"log2", [](double a) { return std::log2(a); }},
  };
  return all;
}

Value element(const Expression& call, const Value& list, const Value& index) {
  if (list.is_object()) {
    const auto found = index.is_string() ? list.find(index.get<std::string>()) : list.end();
    return found == list.end() ? Value() : *found;
  }
  if (!list.is_array()) fail(call, "takes an entry of what is no list");
  const double at = to_number(index, call.operands()[1]);
  const double size = static_cast<double>(list.size());
  const double from_start = at < 0 ? at + size : at;
  if (!(from_start >= 0 && from_start < size))
    fail(call, fmt::format("is entry {} of a list of {}", at, list.size()));
  return list[static_cast<std::size_t>(from_start)];
}

/// The window_pattern of layers by their kinds: L of those that attend to the last tokens alone.
std::string window_letters(const Expression& call, const Value& kinds) {
  if (!kinds.is_array() || kinds.empty())
    fail(call, "asks for the kinds of layers in what is no list");
  std::string letters;
  for (const Value& kind : kinds)
    letters += kind == "sliding_attention" || kind == "local" ? 'L' : 'G';
  return letters;
}

/// So many times.
Value repeated(const Expression& call, const std::string& text, double times) {
  constexpr double most = 1e6;
  if (!(times <= most)) fail(call, fmt::format("repeats a text {} times", times));
  std::string all;
  for (double k = 0; k < times; ++k) all += text;
  return all;
}

/// The sum of a list, or of its first entries.
double sum_of(const Expression& call, const Value& list, double entries) {
  if (!list.is_array()) fail(call, "adds up what is no list");
  if (!(entries >= 0 && entries <= static_cast<double>(list.size())))
    fail(call, fmt::format("adds up {} entries of a list of {}", entries, list.size()));
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(entries); ++i)
    sum += to_number(list[i], call.operands()[0]);
  return checked(sum, call);
}

bool contains(const Value& list, const Value& value) {
  return list.is_array() && std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

double to_number(const Value& value, const Expression& what) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_number())
    throw Error(
        ErrorKind::input,
        fmt::format("{} is {}", base::shortened(what.text()), base::shortened(value.dump())), "",
        "it must be a number");
  return value.get<double>();
}

Value apply_function(const Expression& call, const std::vector<Value>& values) {
  const std::string& name = call.name();
  const auto number = [&](std::size_t i) { return to_number(values[i], call.operands()[i]); };
  if (values.size() == 2) {
    if (name == "==") return values[0] == values[1];
    if (name == "!=") return values[0] != values[1];
    if (name == "in") return contains(values[1], values[0]);
    if (name == "[]") return element(call, values[0], values[1]);
    if (name == "sum") return of_number(sum_of(call, values[0], number(1)));
    if (name == "+" && values[0].is_array() && values[1].is_array()) {
      Value joined = values[0];
      joined.insert(joined.end(), values[1].begin(), values[1].end());
      return joined;
    }
    if (name == "*" && values[0].is_string())
      return repeated(call, values[0].get<std::string>(), number(1));
    if (name == "+" && values[0].is_string() && values[1].is_string())
      return values[0].get<std::string>() + values[1].get<std::string>();
    const auto found = binaries().find(name);
    if (found != binaries().end()) {
      const double result = checked(found->second(number(0), number(1)), call);
      if (name.front() == '<' || name.front() == '>') return result != 0;
      return of_number(result);
    }
  }
  if (name == "rope" && values.size() == 3) return rope_fields(values[0], values[1], values[2]);
  if (values.size() == 1) {
    if (name == "not") return !is_true(values[0]);
    if (name == "sum")
      return of_number(sum_of(call, values[0], static_cast<double>(values[0].size())));
    if (name == "windows") return window_letters(call, values[0]);
    if (name == "pair") {
      if (values[0].is_array() && values[0].size() == 2) return values[0];
      return Value::array({of_number(number(0)), of_number(number(0))});
    }
    if (name == "len") {
      if (!values[0].is_structured()) fail(call, "asks for the length of what is no list");
      return static_cast<std::int64_t>(values[0].size());
    }
    const auto found = unaries().find(name);
    if (found != unaries().end()) return of_number(checked(found->second(number(0)), call));
  }
  fail(call, fmt::format("is not known with {} values", values.size()));
}

}  // namespace scalecalc::architectures
