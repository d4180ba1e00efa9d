#include "symbolic/functions.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "symbolic/arithmetic.hpp"
#include "symbolic/bivariate_normal.hpp"
#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {
namespace {

namespace math = arithmetic;

Expr call(const char* name, const Expr& x) {
  return Expr::function(name, {x});
}
Expr half() {
  return Rational(1, 2);
}
Expr square(const Expr& x) {
  return pow(x, 2);
}

/// The standard normal density, (2 pi)^(-1/2) exp(-x^2/2).
Expr density(const Expr& x) {
  return pow(2 * Expr::pi(), -half()) * exp(-square(x) * half());
}
Expr sigmoid_slope(const Expr& x) {
  return call("sigmoid", x) * (1 - call("sigmoid", x));
}

/// Both evaluations of a function from one body, generic over the number type.
template <class Body>
void set_unary(Function& row, Body) {
  row.in_double = [](std::span<const double> x) -> double { return Body{}(x[0]); };
  row.in_interval = [](std::span<const Interval> x) -> Interval { return Body{}(x[0]); };
}

template <class Body>
void set_binary(Function& row, Body) {
  row.in_double = [](std::span<const double> x) -> double {
    double result = x[0];
    for (const double& next : x.subspan(1)) result = Body{}(result, next);
    return result;
  };
  row.in_interval = [](std::span<const Interval> x) -> Interval {
    Interval result = x[0];
    for (const Interval& next : x.subspan(1)) result = Body{}(result, next);
    return result;
  };
}

struct Spelling {
  std::string_view latex, python, c;
};

template <class Body>
Function smooth(std::string_view name, Body body, Expr (*derivative)(const Expr&),
                std::optional<Expr> (*fold)(const std::vector<Expr>&), Parity parity, Range range,
                Spelling spelling) {
  Function row;
  row.name = name;
  row.parity = parity;
  row.range = range;
  row.fold = fold;
  row.derivative = derivative;
  row.latex = spelling.latex;
  row.python = spelling.python;
  row.c = spelling.c;
  set_unary(row, body);
  return row;
}

Function extreme(std::string_view name, Range range,
                 std::optional<Expr> (*fold)(const std::vector<Expr>&), Spelling spelling) {
  Function row;
  row.name = name;
  row.least_arguments = 2;
  row.most_arguments = 64;
  row.degree = Degree::one;
  row.range = range;
  row.fold = fold;
  row.latex = spelling.latex;
  row.python = spelling.python;
  row.c = spelling.c;
  return row;
}

/// A function of a matrix, known by its degree alone.
Function of_matrix(std::string_view name, Degree degree, Range range, std::string_view latex) {
  Function row;
  row.name = name;
  row.degree = degree;
  row.range = range;
  row.latex = latex;
  row.python = row.c = name;
  return row;
}

#define SCALECALC_BODY(expression) [](const auto& x) { return expression; }
#define SCALECALC_SLOPE(expression) [](const Expr& x) -> Expr { return expression; }

void add_elementary(std::vector<Function>& rows) {
  using namespace folding;
  rows.push_back(smooth("exp", SCALECALC_BODY(math::exp(x)), SCALECALC_SLOPE(exp(x)), exponential,
                        Parity::none, Range::positive, {"\\exp", "math.exp", "exp"}));
  rows.push_back(smooth("log", SCALECALC_BODY(math::log(x)), SCALECALC_SLOPE(1 / x), logarithm,
                        Parity::none, Range::any, {"\\log", "math.log", "log"}));
  rows.push_back(smooth("sin", SCALECALC_BODY(math::sin(x)), SCALECALC_SLOPE(call("cos", x)), sine,
                        Parity::odd, Range::any, {"\\sin", "math.sin", "sin"}));
  rows.push_back(smooth("cos", SCALECALC_BODY(math::cos(x)), SCALECALC_SLOPE(-call("sin", x)),
                        cosine, Parity::even, Range::any, {"\\cos", "math.cos", "cos"}));
  rows.push_back(smooth("tan", SCALECALC_BODY(math::tan(x)),
                        SCALECALC_SLOPE(1 + square(call("tan", x))), tangent, Parity::odd,
                        Range::any, {"\\tan", "math.tan", "tan"}));
  rows.push_back(smooth("asin", SCALECALC_BODY(math::asin(x)),
                        SCALECALC_SLOPE(pow(1 - square(x), -half())), arcsine, Parity::odd,
                        Range::of_argument, {"\\arcsin", "math.asin", "asin"}));
  rows.push_back(smooth("acos", SCALECALC_BODY(math::acos(x)),
                        SCALECALC_SLOPE(-pow(1 - square(x), -half())), arccosine, Parity::none,
                        Range::nonnegative, {"\\arccos", "math.acos", "acos"}));
  rows.push_back(smooth("atan", SCALECALC_BODY(math::atan(x)), SCALECALC_SLOPE(1 / (1 + square(x))),
                        arctangent, Parity::odd, Range::of_argument,
                        {"\\arctan", "math.atan", "atan"}));
  rows.push_back(smooth("sinh", SCALECALC_BODY(math::sinh(x)), SCALECALC_SLOPE(call("cosh", x)),
                        zero_at_zero, Parity::odd, Range::of_argument,
                        {"\\sinh", "math.sinh", "sinh"}));
  rows.push_back(smooth("cosh", SCALECALC_BODY(math::cosh(x)), SCALECALC_SLOPE(call("sinh", x)),
                        one_at_zero, Parity::even, Range::positive,
                        {"\\cosh", "math.cosh", "cosh"}));
  rows.push_back(smooth("tanh", SCALECALC_BODY(math::tanh(x)),
                        SCALECALC_SLOPE(1 - square(call("tanh", x))), zero_at_zero, Parity::odd,
                        Range::of_argument, {"\\tanh", "math.tanh", "tanh"}));
}

void add_normal(std::vector<Function>& rows) {
  using namespace folding;
  rows.push_back(smooth("erf", SCALECALC_BODY(math::erf(x)),
                        SCALECALC_SLOPE(2 * pow(Expr::pi(), -half()) * exp(-square(x))),
                        zero_at_zero, Parity::odd, Range::of_argument,
                        {"\\operatorname{erf}", "math.erf", "erf"}));
  rows.push_back(smooth("erfc", SCALECALC_BODY(math::erfc(x)),
                        SCALECALC_SLOPE(-2 * pow(Expr::pi(), -half()) * exp(-square(x))),
                        one_at_zero, Parity::none, Range::positive,
                        {"\\operatorname{erfc}", "math.erfc", "erfc"}));
  rows.push_back(smooth("Phi", SCALECALC_BODY(math::phi(x)), density, half_at_zero, Parity::none,
                        Range::positive,
                        {"\\Phi", "(0.5*math.erfc(-$/math.sqrt(2)))", "(0.5*erfc(-$/sqrt(2.0)))"}));
  rows.push_back(owens_t_function());
  rows.push_back(phi2_function());
}

void add_activations(std::vector<Function>& rows) {
  using namespace folding;
  rows.push_back(smooth("sigmoid", SCALECALC_BODY(math::sigmoid(x)), sigmoid_slope, half_at_zero,
                        Parity::none, Range::positive,
                        {"\\operatorname{sigmoid}", "(math.exp(min($, 0))/(1 + math.exp(-abs($))))",
                         "(exp(fmin($, 0.0))/(1.0 + exp(-fabs($))))"}));
  rows.push_back(smooth("softplus", SCALECALC_BODY(math::softplus(x)),
                        SCALECALC_SLOPE(call("sigmoid", x)), nullptr, Parity::none, Range::positive,
                        {"\\operatorname{softplus}", "(max($, 0) + math.log1p(math.exp(-abs($))))",
                         "(fmax($, 0.0) + log1p(exp(-fabs($))))"}));
  rows.push_back(smooth("gelu", SCALECALC_BODY(math::gelu(x)),
                        SCALECALC_SLOPE(call("Phi", x) + x * density(x)), zero_at_zero,
                        Parity::none, Range::of_argument,
                        {"\\operatorname{gelu}", "(0.5*$*math.erfc(-$/math.sqrt(2)))",
                         "(0.5*$*erfc(-$/sqrt(2.0)))"}));
  rows.push_back(smooth("silu", SCALECALC_BODY(math::silu(x)),
                        SCALECALC_SLOPE(call("sigmoid", x) + x * sigmoid_slope(x)), zero_at_zero,
                        Parity::none, Range::of_argument,
                        {"\\operatorname{silu}", "($*math.exp(min($, 0))/(1 + math.exp(-abs($))))",
                         "($*exp(fmin($, 0.0))/(1.0 + exp(-fabs($))))"}));
}

void add_piecewise(std::vector<Function>& rows) {
  using namespace folding;
  const auto row = [&](Degree degree, Function function) {
    function.degree = degree;
    rows.push_back(std::move(function));
  };
  row(Degree::one,
      smooth("abs", SCALECALC_BODY(math::abs(x)), SCALECALC_SLOPE(call("sign", x)), absolute,
             Parity::even, Range::nonnegative, {"\\left|$\\right|", "abs", "fabs"}));
  row(Degree::zero,
      smooth("sign", SCALECALC_BODY(math::sign(x)), SCALECALC_SLOPE(0 * x), signum, Parity::odd,
             Range::of_argument,
             {"\\operatorname{sign}", "(($ > 0) - ($ < 0))", "(double)(($ > 0.0) - ($ < 0.0))"}));
  row(Degree::zero, smooth("step", SCALECALC_BODY(math::step(x)), SCALECALC_SLOPE(0 * x), step,
                           Parity::none, Range::nonnegative,
                           {"\\operatorname{step}", "(0.5 + 0.5*(($ > 0) - ($ < 0)))",
                            "(0.5 + 0.5*(($ > 0.0) - ($ < 0.0)))"}));
  row(Degree::one, smooth("relu", SCALECALC_BODY(math::relu(x)), SCALECALC_SLOPE(call("step", x)),
                          relu, Parity::none, Range::nonnegative,
                          {"\\operatorname{relu}", "max($, 0)", "fmax($, 0.0)"}));
  rows.push_back(extreme("min", Range::minimum, minimum, {"\\min", "min", "fmin"}));
  set_binary(rows.back(), [](const auto& a, const auto& b) { return math::min(a, b); });
  rows.push_back(extreme("max", Range::maximum, maximum, {"\\max", "max", "fmax"}));
  set_binary(rows.back(), [](const auto& a, const auto& b) { return math::max(a, b); });
}

#undef SCALECALC_BODY
#undef SCALECALC_SLOPE

std::vector<Function> all_functions() {
  std::vector<Function> rows;
  add_elementary(rows);
  add_normal(rows);
  add_activations(rows);
  add_piecewise(rows);
  rows.push_back(of_matrix("norm", Degree::one, Range::nonnegative, "\\left\\|$\\right\\|"));
  rows.push_back(of_matrix("rms", Degree::one, Range::nonnegative, "\\operatorname{rms}"));
  rows.push_back(of_matrix("global_norm", Degree::one, Range::nonnegative,
                           "\\left\\|$\\right\\|_{\\mathrm{all}}"));
  rows.push_back(of_matrix("orthogonal", Degree::zero, Range::any, "\\operatorname{orth}"));
  return rows;
}

[[noreturn]] void wrong_count(const Function& function, std::size_t count) {
  const std::string name(function.name);
  const int least = function.least_arguments, most = function.most_arguments;
  const std::string wanted = most == 1       ? "1 argument"
                             : least == most ? std::to_string(most) + " arguments"
                                             : "2 to 64 arguments";
  throw Error(ErrorKind::input, name + " takes " + wanted + ", not " + std::to_string(count), {},
              "write " + name +
                  (most == 1    ? "(x)"
                   : least == 3 ? "(x, y, r)"
                                : "(x, y)"));
}

/// The signs that max may have; min is its mirror image.
Signs signs_of_maximum(const std::vector<Signs>& arguments) {
  Signs seen = 0, allowed = sign::any;
  for (Signs signs : arguments) seen |= signs;
  for (Signs signs : arguments) {
    if (!(signs & sign::negative)) allowed &= ~sign::negative;
    if (!(signs & sign::nonpositive)) allowed &= ~sign::nonpositive;
  }
  return seen & allowed;
}

}  // namespace

Signs Function::signs(const std::vector<Expr>& arguments) const {
  switch (range) {
    case Range::any: return sign::any;
    case Range::positive: return sign::positive;
    case Range::nonnegative: return sign::nonnegative;
    case Range::of_argument: return signs_of(arguments[0]);
    case Range::minimum:
    case Range::maximum: break;
  }
  std::vector<Signs> each;
  for (const Expr& argument : arguments) {
    each.push_back(range == Range::maximum ? signs_of(argument) : opposite(signs_of(argument)));
  }
  return range == Range::maximum ? signs_of_maximum(each) : opposite(signs_of_maximum(each));
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = all_functions();
  return all;
}

const Function* find_function(std::string_view name) {
  for (const Function& function : functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names{"sqrt"};
  for (const Function& function : functions()) names.emplace_back(function.name);
  return names;
}

}  // namespace scalecalc::symbolic

namespace scalecalc {

Expr Expr::function(std::string name, std::vector<Expr> arguments) {
  using namespace symbolic;
  if (!base::is_identifier(name)) {
    throw Error(ErrorKind::input, "'" + base::shortened(name) + "' is not a name of a function", {},
                "names are letters, digits and _");
  }
  if (name == "sqrt") {
    if (arguments.size() != 1) {
      throw Error(ErrorKind::input,
                  "sqrt takes 1 argument, not " + std::to_string(arguments.size()), {},
                  "write sqrt(x)");
    }
    return pow(arguments[0], Rational(1, 2));
  }
  const Function* row = find_function(name);
  if (!row) return raw_function(std::move(name), nullptr, std::move(arguments));
  const int count = static_cast<int>(std::min<std::size_t>(arguments.size(), 1000));
  if (count < row->least_arguments || count > row->most_arguments) {
    wrong_count(*row, arguments.size());
  }
  if (row->parity != Parity::none && prefers_opposite(arguments[0])) {
    const Expr mirrored = function(std::move(name), {-arguments[0]});
    return row->parity == Parity::odd ? -mirrored : mirrored;
  }
  if (row->fold) {
    if (std::optional<Expr> simpler = row->fold(arguments)) return *simpler;
  }
  return raw_function(std::move(name), row, std::move(arguments));
}

}  // namespace scalecalc
