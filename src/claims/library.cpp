#include "claims/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace scalecalc::claims {
namespace {

const std::vector<LibraryFunction>& functions() {
  static const std::vector<LibraryFunction> list = [] {
    std::vector<LibraryFunction> all;
    for (const auto& part : {scaling_functions(), gain_functions(), softmax_functions(),
                             network_functions(), transfer_functions()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return list;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void collect_names(const Expr& formula, std::set<std::string>& names) {
  if (formula.kind() == Expr::Kind::symbol) names.insert(formula.name());
  for (const Expr& operand : formula.operands()) collect_names(operand, names);
}

}  // namespace

Arguments::Arguments(Lowering& lowering, const Node& call, const std::vector<std::string>& names,
                     const std::vector<std::string>& prefixes)
    : lowering_(lowering), call_(call), names_(names) {
  if (call.children.size() > names.size())
    fail(fmt::format("{} takes at most {} plain arguments", call.text, names.size()),
         "give the others as key=value");
  for (std::size_t k = 0; k < call.named.size(); ++k) {
    const std::string& key = call.named[k].first;
    const bool known = contains(names, key) ||
                       std::any_of(prefixes.begin(), prefixes.end(),
                                   [&](const std::string& p) { return key.starts_with(p); });
    if (!known)
      throw unknown_name("argument of " + call.text, key, names,
                         place().at(call.named[k].second.column));
    const auto position = std::find(names.begin(), names.end(), key) - names.begin();
    if (position < static_cast<std::ptrdiff_t>(call.children.size()))
      fail("'" + key + "' is given twice", "give it once");
  }
}

void Arguments::fail(const std::string& what, const std::string& hint) const {
  lowering_.fail(call_, what, hint);
}

const Node* Arguments::find(const std::string& name) const {
  const auto position = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<std::size_t>(position - names_.begin());
  if (position != names_.end() && index < call_.children.size()) return &call_.children[index];
  for (const auto& [key, value] : call_.named)
    if (key == name) return &value;
  return nullptr;
}

const Node& Arguments::required(const std::string& name) const {
  if (const Node* node = find(name)) return *node;
  fail(call_.text + " needs " + name, "add " + name + "=...");
}

std::string Arguments::text(const std::string& name) {
  const Node& node = required(name);
  if (node.kind != Node::Kind::name && node.kind != Node::Kind::text)
    lowering_.fail(node, name + " must be a name", "for example " + name + "=\"...\"");
  return node.text;
}

std::string Arguments::text_or(const std::string& name, const std::string& otherwise) {
  return has(name) ? text(name) : otherwise;
}

Expr Arguments::expr(const std::string& name) {
  return lowering_(required(name));
}

Expr Arguments::expr_or(const std::string& name, const Expr& otherwise) {
  return has(name) ? expr(name) : otherwise;
}

Expr Arguments::formula(const std::string& name, const std::vector<std::string>& symbols) {
  const Node& node = required(name);
  if (node.kind != Node::Kind::text) return Expr(rational(name));
  ParseOptions options;
  options.known_symbols = symbols;
  options.where = place().at(node.column);
  return parse(node.text, options);
}

Expr Arguments::in_scope(const Expr& formula, std::map<std::string, Expr> known) {
  std::set<std::string> names;
  collect_names(formula, names);
  for (const std::string& name : names) {
    if (known.contains(name)) continue;
    Node symbol;
    symbol.kind = Node::Kind::name;
    symbol.text = name;
    symbol.column = call_.column;
    known.emplace(name, lowering_(symbol));
  }
  return substitute(formula, known);
}

double Arguments::number(const std::string& name) {
  const Node& node = required(name);
  return placed(place(), node.column, [&] { return engine().value(lowering_(node)); });
}

double Arguments::number_or(const std::string& name, double otherwise) {
  return has(name) ? number(name) : otherwise;
}

Rational Arguments::rational(const std::string& name) {
  const Expr value = engine().without_leaves(expr(name));
  return value.is_number() ? value.number() : Rational::exactly(number(name));
}

std::int64_t Arguments::integer(const std::string& name) {
  const Node& node = required(name);
  const double value = number(name);
  if (value != std::floor(value) || std::abs(value) > 1e15)
    lowering_.fail(node, fmt::format("{} must be a whole number, got {}", name, value),
                   "for example " + name + "=12");
  return static_cast<std::int64_t>(value);
}

bool Arguments::boolean(const std::string& name) {
  const std::string given = text(name);
  if (given != "true" && given != "false")
    fail(name + " must be true or false", "for example " + name + "=true");
  return given == "true";
}

std::vector<std::int64_t> Arguments::integers(const std::string& name) {
  const Node& node = required(name);
  if (node.kind != Node::Kind::list || node.children.empty())
    lowering_.fail(node, name + " must be a list", "for example " + name + "=[2, 8, 32]");
  std::vector<std::int64_t> result;
  for (const Node& element : node.children) {
    const double value = engine().value(lowering_(element));
    if (value != std::floor(value) || !(value >= 1 && value <= 1e6))
      lowering_.fail(element, name + " must be whole numbers from 1 to 1000000",
                     "for example " + name + "=[2, 8, 32]");
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

std::vector<std::string> Arguments::beginning_with(const std::string& prefix) const {
  std::vector<std::string> result;
  for (const auto& [key, value] : call_.named)
    if (key.starts_with(prefix)) result.push_back(key);
  return result;
}

std::vector<std::string> Arguments::others(const std::vector<std::string>& names) const {
  std::vector<std::string> result;
  for (const auto& [key, value] : call_.named)
    if (!contains(names, key)) result.push_back(key);
  return result;
}

const LibraryFunction* library_function(const std::string& name) {
  const auto found = std::find_if(functions().begin(), functions().end(),
                                  [&](const LibraryFunction& f) { return f.name == name; });
  return found == functions().end() ? nullptr : &*found;
}

const std::vector<std::string>& library_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const LibraryFunction& function : functions()) list.push_back(function.name);
    return list;
  }();
  return names;
}

Expr call_library(const LibraryFunction& function, Lowering& lowering, const Node& call,
                  const std::string& member) {
  Arguments arguments(lowering, call, function.parameters,
                      function.any_key ? std::vector<std::string>{""} : std::vector<std::string>{});
  if (!member.empty() && !contains(function.members, member))
    throw unknown_name("member of " + function.name, member, function.members,
                       lowering.place().at(call.column));
  const std::string& wanted = member.empty() ? function.members.front() : member;
  return placed(lowering.place(), call.column, [&] { return function.value(arguments, wanted); });
}

}  // namespace scalecalc::claims
