#include "moments/engines/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "moments/gaussian_function.hpp"
#include "scalecalc/softmax.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::moments {
namespace {

const std::string kMark = "expectation_";

struct Mark {
  Activation activation;
  Moment moment;
};

const Expr& argument() {
  static const Expr x = Expr::symbol("x", Assumption::real);
  return x;
}

bool is_registered(const std::string& name) {
  const std::vector<std::string> names = activation_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// An activation as the first argument: silu(x), or the expression.
Expr applied_name(const Activation& activation) {
  if (is_registered(activation.name())) return Expr::function(activation.name(), {argument()});
  return activation.expression();
}
Activation named_activation(const Expr& first) {
  const bool named = first.kind() == Expr::Kind::function && first.operands().size() == 1 &&
                     first.operands()[0] == argument() && is_registered(first.name());
  return activation_of(named ? first.name() : to_string(first));
}

/// What stands behind "expectation_second"; nothing for another function.
std::optional<Mark> mark_of(const Expr& expr) {
  if (expr.kind() != Expr::Kind::function || !expr.name().starts_with(kMark)) return std::nullopt;
  const std::string moment = expr.name().substr(kMark.size());
  for (const Moment one : all_moments())
    if (to_string(one) == moment) return Mark{named_activation(expr.operands()[0]), one};
  return std::nullopt;
}

Expr marked(const Activation& activation, Moment moment, std::vector<Expr> arguments) {
  arguments.insert(arguments.begin(), applied_name(activation));
  return Expr::function(kMark + to_string(moment), std::move(arguments));
}

// ---- as text ------------------------------------------------------------------------------------

bool is_slope(Moment moment) {
  return moment == Moment::slope_mean || moment == Moment::slope_second ||
         moment == Moment::slope_cross;
}

int power_of(Moment moment) {
  if (moment == Moment::fourth) return 4;
  return moment == Moment::second || moment == Moment::slope_second ? 2 : 1;
}

/// phi(u) under its own name where it has one, phi'(u) written out.
Expr applied(const Mark& mark, const Expr& u) {
  const Expr& slope = mark.activation.derivative();
  if (is_slope(mark.moment)) return substitute(slope, {{"x", u}});
  const std::vector<std::string> names = activation_names();
  const std::string& name = mark.activation.name();
  if (std::find(names.begin(), names.end(), name) != names.end()) return Expr::function(name, {u});
  return substitute(mark.activation.expression(), {{"x", u}});
}

Expr written(const Expr& expr) {
  const Expr inner = rebuilt(expr, written);
  const std::optional<Mark> mark = mark_of(inner);
  if (!mark) return inner;
  const Expr &mean = inner.operands()[1], width = sqrt(inner.operands()[2]);
  const Expr z = Expr::symbol("z", Assumption::real), w = Expr::symbol("w", Assumption::real);
  const Expr first = applied(*mark, mean + width * z);
  if (!is_pair(mark->moment)) return Expr::function("E", {pow(first, power_of(mark->moment))});
  const Expr& c = inner.operands()[3];
  const Expr second = applied(*mark, mean + width * (c * z + sqrt(1 - c * c) * w));
  return Expr::function("E", {first * second});
}

/// E(...) with the square brackets of the formula language.
std::string bracketed(std::string text) {
  for (std::size_t at = text.find("E("); at != std::string::npos; at = text.find("E(", at + 1)) {
    const bool inside_a_name =
        at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_');
    if (inside_a_name) continue;
    int depth = 0;
    std::size_t end = at + 1;
    for (; end < text.size(); ++end) {
      if (text[end] == '(') ++depth;
      if (text[end] == ')' && --depth == 0) break;
    }
    if (end == text.size()) break;
    text[at + 1] = '[';
    text[end] = ']';
  }
  return text;
}

// ---- as a number --------------------------------------------------------------------------------

double expectation_value(const Mark& mark, const std::vector<double>& arguments) {
  GaussianInput input{arguments[0], arguments[1], {}};
  if (is_pair(mark.moment)) input.correlation = std::clamp(arguments[2], -1.0, 1.0);
  if (const auto closed = closed_form_value(mark.activation, mark.moment, input))
    return closed->value;
  return quadrature(mark.activation, mark.moment, input).value;
}

bool is_softmax(const std::string& name) {
  return name == "P2" || name == "A" || name == "O" || name == "A_prime";
}

double softmax_value(const std::string& name, const std::vector<double>& x) {
  const auto keys = static_cast<std::int64_t>(std::llround(x[0]));
  if (name == "P2") return softmax_one(keys, x[1]).p2.value;
  if (name == "A") return softmax_one(keys, x[1]).a.value;
  const SoftmaxPair pair = softmax_pair(keys, x[1], std::clamp(x[2], -1.0, 1.0));
  return name == "O" ? pair.overlap.value : pair.a_prime.value;
}

/// The expression with every opaque function replaced by its value.
Expr opened(const Expr& expr, const Bindings& values) {
  const Expr inner = rebuilt(expr, [&](const Expr& part) { return opened(part, values); });
  if (inner.kind() != Expr::Kind::function) return inner;
  const std::optional<Mark> mark = mark_of(inner);
  std::vector<double> arguments;
  if (!mark && !is_softmax(inner.name())) return inner;
  for (std::size_t i = mark ? 1 : 0; i < inner.operands().size(); ++i)
    arguments.push_back(evaluate(inner.operands()[i], values));
  return exact(mark ? expectation_value(*mark, arguments) : softmax_value(inner.name(), arguments));
}

}  // namespace

Expr exact(double value) {
  if (!std::isfinite(value))
    throw Error(ErrorKind::input, fmt::format("{} is not a number of a formula", value));
  return Rational::parse(fmt::format("{}", value));
}

Expr rebuilt(const Expr& expr, const std::function<Expr(const Expr&)>& map) {
  if (expr.operands().empty()) return expr;
  std::vector<Expr> parts;
  for (const Expr& operand : expr.operands()) parts.push_back(map(operand));
  switch (expr.kind()) {
    case Expr::Kind::sum: return symbolic::add(std::move(parts));
    case Expr::Kind::product: return symbolic::multiply(std::move(parts));
    case Expr::Kind::power: return pow(parts[0], parts[1]);
    default: return Expr::function(expr.name(), parts);
  }
}

Expr unevaluated(const Activation& activation, Moment moment, const Expr& mean,
                 const Expr& variance) {
  return marked(activation, moment, {mean, variance});
}

Expr unevaluated(const Activation& activation, Moment moment, const Expr& mean,
                 const Expr& variance, const Expr& correlation) {
  return marked(activation, moment, {mean, variance, correlation});
}

std::string formula_text(const Expr& formula, Notation notation) {
  const std::string text = to_string(written(formula), notation);
  return notation == Notation::text ? bracketed(text) : text;
}

double formula_value(const Expr& formula, const Bindings& values) {
  return evaluate(opened(formula, values), values);
}

}  // namespace scalecalc::moments
