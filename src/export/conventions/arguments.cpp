#include "export/conventions/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scalecalc::conventions {
namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 40;
constexpr double largest = 1e30;

Expr gain_of(const Node& call, const std::string& what) {
  const Arguments arguments("torch.nn.init.calculate_gain", "nonlinearity, param=None", call);
  const Node& name = arguments.node("nonlinearity");
  if (name.kind != Node::Kind::text) throw arguments.wrong("nonlinearity", "be a string");
  const Expr parameter =
      arguments.is_none("param") ? Expr(Rational(1, 100)) : arguments.number("param");
  return torch_gain(name.text, parameter, what);
}

Error not_a_number(const Node& node, const std::string& what) {
  return {ErrorKind::input, what + " must be a number", "got " + shown(node),
          "write its value, for example 0.02 or 1/sqrt(1024)"};
}

Expr function_of(const Node& call, const std::string& what) {
  const Node& callee = *call.items.front();
  if (callee.kind != Node::Kind::name) throw not_a_number(call, what);
  const std::string name = last_part(callee.text);
  if (name == "calculate_gain") return gain_of(call, what);
  const bool known = name == "sqrt" || name == "exp" || name == "log" || name == "float";
  if (!known) throw not_a_number(call, what);
  const Arguments arguments(name, "x", call);
  const Expr value = number_of(arguments.node("x"), what);
  return name == "sqrt"  ? sqrt(value)
         : name == "exp" ? exp(value)
         : name == "log" ? log(value)
                         : value;
}

}  // namespace

std::string last_part(const std::string& dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string::npos ? dotted : dotted.substr(dot + 1);
}

Expr torch_gain(const std::string& nonlinearity, const Expr& parameter, const std::string& where) {
  const std::vector<std::string> ones = {"linear",           "conv1d",           "conv2d",
                                         "conv3d",           "conv_transpose1d", "conv_transpose2d",
                                         "conv_transpose3d", "sigmoid"};
  if (std::find(ones.begin(), ones.end(), nonlinearity) != ones.end()) return 1;
  if (nonlinearity == "tanh") return Rational(5, 3);
  if (nonlinearity == "relu") return sqrt(Expr(2));
  if (nonlinearity == "leaky_relu") return sqrt(2 / (1 + pow(parameter, 2)));
  if (nonlinearity == "selu") return Rational(3, 4);
  std::vector<std::string> known = ones;
  known.insert(known.end(), {"tanh", "relu", "leaky_relu", "selu"});
  throw unknown_name("nonlinearity", nonlinearity, known, where);
}

Expr number_of(const Node& node, const std::string& what) {
  const auto item = [&](std::size_t i) { return number_of(*node.items[i], what); };
  const std::string name = node.kind == Node::Kind::name ? last_part(node.text) : "";
  if (name == "pi") return Expr::pi();
  if (name == "e" && node.text != "e") return exp(Expr(1));
  switch (node.kind) {
    case Node::Kind::number: return node.number;
    case Node::Kind::call: return function_of(node, what);
    case Node::Kind::operation: break;
    default: throw not_a_number(node, what);
  }
  if (node.text == "neg") return -item(0);
  if (node.text == "+") return item(0) + item(1);
  if (node.text == "-") return item(0) - item(1);
  if (node.text == "*") return item(0) * item(1);
  if (node.text == "/") return item(0) / item(1);
  return pow(item(0), item(1));
}

std::optional<std::int64_t> integer_of(const Node& node) {
  if (node.kind != Node::Kind::number && node.kind != Node::Kind::operation) return std::nullopt;
  const Expr value = number_of(node, "a size");
  if (!value.is_number()) return std::nullopt;
  return value.number().to_int64();
}

Arguments::Arguments(const std::string& function, const std::string& signature, const Node& call)
    : function_(function) {
  const NodePtr definition = parse_line("f(" + signature + ")");
  for (const Argument& parameter : definition->arguments) {
    const bool required = parameter.name.empty();
    names_.push_back(required ? parameter.value->text : parameter.name);
    values_[names_.back()] = required ? nullptr : parameter.value;
    given_[names_.back()] = false;
  }
  std::size_t position = 0;
  for (const Argument& argument : call.arguments) {
    if (argument.name.empty() && position >= names_.size()) {
      throw Error(ErrorKind::input,
                  fmt::format("{} takes at most {} arguments", function_, names_.size()),
                  fmt::format("LINE, got {} more: {}", call.arguments.size() - names_.size(),
                              shown(*argument.value)),
                  "its arguments are " + signature);
    }
    const std::string name = argument.name.empty() ? names_[position++] : argument.name;
    if (values_.count(name) == 0) throw unknown_name("argument", name, names_, function_);
    if (given_[name]) {
      throw Error(ErrorKind::input, "argument '" + name + "' is given twice", function_,
                  "give it once");
    }
    values_[name] = argument.value;
    given_[name] = true;
  }
  for (const std::string& name : names_) {
    if (values_[name]) continue;
    throw Error(ErrorKind::input, "argument '" + name + "' is missing", function_,
                "its arguments are " + signature);
  }
}

Error Arguments::wrong(const std::string& name, const std::string& must) const {
  return {ErrorKind::input, "argument '" + name + "' must " + must,
          function_ + ", got " + shown(node(name))};
}

bool Arguments::is_none(const std::string& name) const {
  return node(name).kind == Node::Kind::word && node(name).text == "None";
}

Expr Arguments::number(const std::string& name) const {
  Expr value;
  double rounded = 0;
  try {
    value = number_of(node(name), "argument '" + name + "'");
    rounded = evaluate(value);
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw wrong(name, "be a number: " + error.message());
  }
  if (std::isfinite(rounded) && std::fabs(rounded) <= largest) return value;
  throw wrong(name, "be a finite number up to 1e30");
}

Expr Arguments::positive(const std::string& name) const {
  const Expr value = number(name);
  if (evaluate(value) > 0) return value;
  throw wrong(name, "be positive");
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t least) const {
  const auto value = integer_of(node(name));
  if (value && *value >= least && *value <= largest_size) return *value;
  throw wrong(name, fmt::format("be an integer from {}", least));
}

bool Arguments::flag(const std::string& name) const {
  const Node& value = node(name);
  if (value.kind == Node::Kind::word && value.text == "True") return true;
  if (value.kind == Node::Kind::word && value.text == "False") return false;
  throw wrong(name, "be True or False");
}

std::string Arguments::choice(const std::string& name,
                              const std::vector<std::string>& known) const {
  const Node& value = node(name);
  if (value.kind != Node::Kind::text) throw wrong(name, "be a string");
  if (std::find(known.begin(), known.end(), value.text) != known.end()) return value.text;
  throw unknown_name(name, value.text, known, function_);
}

std::vector<std::int64_t> Arguments::sizes(const std::string& name, int count) const {
  const Node& value = node(name);
  const auto size = [&](const Node& item) {
    const auto number = integer_of(item);
    if (number && *number >= 1 && *number <= largest_size) return *number;
    throw wrong(name, fmt::format("be one or {} positive integers", count));
  };
  if (value.kind != Node::Kind::tuple) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(count), size(value));
  }
  if (static_cast<int>(value.items.size()) != count) {
    throw wrong(name, fmt::format("be one or {} positive integers", count));
  }
  std::vector<std::int64_t> list;
  for (const NodePtr& item : value.items) list.push_back(size(*item));
  return list;
}

std::vector<std::size_t> Arguments::axes(const std::string& name, std::size_t rank) const {
  const Node& value = node(name);
  const auto axis = [&](const Node& item) {
    const auto number = integer_of(item);
    const auto count = static_cast<std::int64_t>(rank);
    if (!number || *number < -count || *number >= count) {
      throw wrong(name, fmt::format("be axes from -{} to {}", rank, rank - 1));
    }
    return static_cast<std::size_t>(*number < 0 ? *number + count : *number);
  };
  if (value.kind != Node::Kind::tuple) return {axis(value)};
  std::vector<std::size_t> list;
  for (const NodePtr& item : value.items) list.push_back(axis(*item));
  return list;
}

}  // namespace scalecalc::conventions
