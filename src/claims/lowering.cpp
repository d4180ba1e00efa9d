#include "claims/lowering.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "claims/expectation.hpp"
#include "claims/library.hpp"
#include "scalecalc/activation.hpp"
#include "symbolic/functions.hpp"

namespace scalecalc::claims {
namespace {

using Kind = Node::Kind;

std::vector<std::string> callable_names() {
  std::vector<std::string> names = symbolic::function_names();
  names.emplace_back("sqrt");
  for (const auto& list : {activation_names(), library_names(), form_names()})
    names.insert(names.end(), list.begin(), list.end());
  return names;
}

bool is_activation(const std::string& name) {
  const std::vector<std::string> names = activation_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool contains_any(const Expr& expr, const Gaussians& gaussians) {
  if (expr.kind() == Expr::Kind::symbol) return gaussians.find(expr.name()) != nullptr;
  return std::any_of(expr.operands().begin(), expr.operands().end(),
                     [&](const Expr& operand) { return contains_any(operand, gaussians); });
}

}  // namespace

Expr Lowering::operator()(const Node& node) {
  return placed(place_, node.column, [&] { return lower(node); });
}

void Lowering::fail(const Node& node, const std::string& what, const std::string& hint) const {
  throw PlacedError(ErrorKind::input, what, place_.at(node.column), hint);
}

Expr Lowering::lower(const Node& node) {
  const auto part = [&](std::size_t index) { return (*this)(node.children[index]); };
  switch (node.kind) {
    case Kind::number: return node.value;
    case Kind::name: return named(node);
    case Kind::index: return indexed(node);
    case Kind::negative: return -part(0);
    case Kind::sum: return part(0) + part(1);
    case Kind::difference: return part(0) - part(1);
    case Kind::product: return part(0) * part(1);
    case Kind::quotient: return part(0) / part(1);
    case Kind::power: return pow(part(0), part(1));
    case Kind::call: return call(node, "");
    case Kind::member: return call(node.children[0], node.text);
    case Kind::expectation: return expectation(node);
    case Kind::text:
      fail(node, "a quoted text where a number is due", "texts are arguments: gain(\"relu\")");
    case Kind::list: break;
  }
  fail(node, "a list where a number is due", "lists are arguments: layers=[2, 8, 32]");
}

Expr Lowering::named(const Node& node) {
  const std::string& name = node.text;
  if (name.find("__") != std::string::npos)
    fail(node, "names have no two _ in a row", "write another name");
  if (name == "inf" || name == "infinity")
    fail(node, "a bound that never ends", "give a number, or a symbol such as n");
  if (is_reserved(name))
    fail(node, "'" + name + "' is no number", "give a number, or a symbol of another name");
  const auto value = scope_.values.find(name);
  if (value != scope_.values.end()) return value->second;
  if (scope_.gaussians.find(name) != nullptr) {
    if (!scope_.in_expectation)
      fail(node, "'" + name + "' is random here", "put it into an expectation: E[" + name + "]");
    return Expr::symbol(name, Assumption::real);
  }
  if (name == "pi") return Expr::pi();
  if (symbolic::find_function(name) != nullptr || name == "sqrt" || is_activation(name) ||
      library_function(name) != nullptr || find_form(name) != nullptr || name == "E")
    fail(node, "the function '" + name + "' has no argument",
         name == "E" ? "write E[...]" : "write " + name + "(...)");
  const auto found = scope_.domains.find(name);
  const Domain domain = found == scope_.domains.end() ? Domain{} : found->second;
  if (!engine_.is_symbolic()) throw Unbound{name, domain};
  scope_.domains.insert_or_assign(name, domain);
  return domain.symbol(name);
}

Expr Lowering::indexed(const Node& node) {
  const Expr index = engine_.without_leaves((*this)(node.children[0]));
  if (!index.is_number() || !index.number().is_integer())
    fail(node, "the index of '" + node.text + "' must be a whole number",
         "give it a value: sum(i, 1, 8, " + base::shortened(node.text, 20) + "[i])");
  const std::string name = node.text + "__" + index.number().to_string();
  if (scope_.gaussians.find(name) == nullptr)
    fail(node,
         "there is no " + base::shortened(node.text, 40) + "[" +
             base::shortened(index.number().to_string(), 20) + "]",
         "declare several with let: q = \"normal(0, 1)[8]\", counted from 1");
  if (!scope_.in_expectation)
    fail(node, "'" + node.text + "' is random here", "put it into an expectation: E[...]");
  return Expr::symbol(name, Assumption::real);
}

Expr Lowering::with(const std::string& name, const Expr& value, const Node& body) {
  engine_.spend();
  const auto before = scope_.values.find(name);
  const std::optional<Expr> saved =
      before == scope_.values.end() ? std::nullopt : std::optional<Expr>(before->second);
  struct Restore {
    Scope& scope;
    const std::string& name;
    const std::optional<Expr>& saved;
    ~Restore() {
      scope.values.erase(name);
      if (saved) scope.values.emplace(name, *saved);
    }
  } restore{scope_, name, saved};
  scope_.values.insert_or_assign(name, value);
  return (*this)(body);
}

std::function<double(double)> Lowering::function_of(const std::string& name, const Node& body) {
  bool needs_engine = mentions(body, "E");
  for (const auto& list : {library_names(), form_names()})
    for (const std::string& function : list) needs_engine |= mentions(body, function);
  if (needs_engine)
    return [this, &name, &body](double x) {
      struct Unsampled {
        Engine& engine;
        explicit Unsampled(Engine& of) : engine(of) { engine.begin_unsampled(); }
        ~Unsampled() { engine.end_unsampled(); }
      } unsampled(engine_);
      return engine_.value(with(name, Expr(Rational::exactly(x)), body));
    };
  const Expr formula =
      engine_.without_leaves(with(name, Expr::symbol(name + "__", Assumption::real), body));
  return [this, formula, symbol = name + "__"](double x) {
    engine_.spend();
    return evaluate(formula, {{symbol, x}});
  };
}

const std::string& Lowering::variable(const Node& call) const {
  if (call.children.empty() || call.children[0].kind != Kind::name)
    fail(call, call.text + " begins with the name of its variable",
         "for example " + call.text + "(k, 1, 10, k^2)");
  if (is_reserved(call.children[0].text))
    fail(call.children[0], "'" + call.children[0].text + "' cannot be a variable",
         "for example " + call.text + "(k, 1, 10, k^2)");
  return call.children[0].text;
}

Expr Lowering::call(const Node& node, const std::string& member) {
  if (node.primes == 0) {
    if (const LibraryFunction* library = library_function(node.text))
      return call_library(*library, *this, node, member);
    if (const Form form = find_form(node.text)) return form(*this, node, member);
  }
  if (!member.empty())
    fail(node, node.text + "(...) is one number, without ." + base::shortened(member, 40),
         "remove the point and what follows");
  return function(node);
}

Expr Lowering::function(const Node& node) {
  const bool plain = symbolic::find_function(node.text) != nullptr || node.text == "sqrt";
  if (!plain && !is_activation(node.text))
    throw unknown_name("function", node.text, callable_names(), place_.at(node.column));
  std::vector<Expr> arguments;
  for (const Node& child : node.children) arguments.push_back((*this)(child));
  if (plain && node.primes == 0) {
    if (!node.named.empty())
      fail(node, node.text + " takes no " + base::shortened(node.named[0].first, 40) + "=",
           "write " + node.text + "(x)");
    return Expr::function(node.text, std::move(arguments));
  }
  if (arguments.size() != 1)
    fail(node, node.text + " takes 1 argument, not " + std::to_string(arguments.size()),
         "write " + node.text + "(x)");
  Expr body = 0;
  const Expr x = Expr::symbol("x", Assumption::real);
  if (is_activation(node.text)) {
    std::map<std::string, Rational> parameters;
    for (const auto& [key, value] : node.named) {
      const Expr given = (*this)(value);
      if (!given.is_number())
        throw NotApplicable{"the parameter " + key + " of " + node.text + " is no number"};
      parameters[key] = given.number();
    }
    body = Activation::named(node.text, parameters).expression();
  } else {
    body = Expr::function(node.text, {x});
  }
  for (int order = 0; order < node.primes; ++order) body = differentiate(body, "x");
  return substitute(body, {{"x", arguments[0]}});
}

Expr Lowering::expectation(const Node& node) {
  if (scope_.in_expectation)
    fail(node, "an expectation inside another", "write E[a]*E[b], or give it a name in let");
  scope_.in_expectation = true;
  struct Leave {
    bool& flag;
    ~Leave() { flag = false; }
  } leave{scope_.in_expectation};
  const Expr body = (*this)(node.children[0]);
  scope_.in_expectation = false;
  if (!contains_any(body, scope_.gaussians) && body.kind() != Expr::Kind::number)
    fail(node, "nothing in this expectation is random",
         "declare its variable: let = { x = \"normal(0, 1)\" }");
  return expectation_of(body, scope_.gaussians, engine_);
}

}  // namespace scalecalc::claims
