#include <fmt/format.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "claims/closed_sums.hpp"
#include "claims/lowering.hpp"

namespace scalecalc::claims {
namespace {

constexpr std::int64_t most_terms = 100000;

void check_shape(Lowering& lowering, const Node& node, const std::string& member,
                 const char* example, bool has_place = false) {
  const bool right_member = member.empty() || (has_place && member == "at");
  if (node.children.size() == 4 && node.named.empty() && right_member) return;
  const std::string what = right_member ? node.text + " takes a variable, two ends and a formula"
                                        : node.text + " has no ." + base::shortened(member, 40);
  lowering.fail(node, what, std::string("for example ") + example);
}

std::optional<std::int64_t> whole(const Expr& expr) {
  return expr.is_number() ? expr.number().to_int64() : std::nullopt;
}

/// The ends of a loop; nothing when one of them is a symbol.
struct Range {
  Expr first, last;
  std::optional<std::int64_t> begin, count;
};
Range range_of(Lowering& lowering, const Node& node, const char* of_what) {
  Engine& engine = lowering.engine();
  Range range{engine.without_leaves(lowering(node.children[1])),
              engine.without_leaves(lowering(node.children[2])),
              {},
              {}};
  range.begin = whole(range.first);
  if (!range.first.is_number() || !range.last.is_number()) return range;
  const std::optional<std::int64_t> end = whole(range.last);
  if (!range.begin || (!end && range.last.number().is_integer() == false))
    lowering.fail(node, node.text + " counts in whole numbers",
                  "for example " + node.text + "(k, 1, 10, ...)");
  const double count = range.last.number().to_double() - range.first.number().to_double() + 1;
  if (count > static_cast<double>(most_terms))
    lowering.fail(node,
                  fmt::format("{} of {:.0f} {}; at most {} are carried out", node.text, count,
                              of_what, most_terms),
                  "use fewer, or leave the end a symbol");
  range.count = std::max<std::int64_t>(0, *end - *range.begin + 1);
  return range;
}

constexpr char loop_example[] = "sum(k, 1, 10, k^2)";

Expr loop(Lowering& lowering, const Node& node, const std::string& member, bool is_sum) {
  check_shape(lowering, node, member, loop_example);
  const std::string& index = lowering.variable(node);
  const Range range = range_of(lowering, node, is_sum ? "terms" : "factors");
  if (!range.count) {
    if (!lowering.engine().is_symbolic())
      lowering.fail(node, "an end of this " + node.text + " has no value here",
                    "declare it in for, or as \"integer\" in let");
    const std::string inner = index + "__";
    const Expr body =
        lowering.with(index, Expr::symbol(inner, Assumption::positive), node.children[3]);
    return is_sum ? closed_sum(body, inner, range.first, range.last)
                  : closed_product(body, inner, range.first, range.last);
  }
  Expr result = is_sum ? 0 : 1;
  Engine& engine = lowering.engine();
  for (std::int64_t step = 0; step < *range.count; ++step) {
    const Expr term = lowering.with(index, Expr(*range.begin + step), node.children[3]);
    result = is_sum ? result + term : result * term;
    if (step % 64 == 63 && !engine.is_symbolic()) {
      const Estimate so_far = engine.estimate(result);
      result = engine.leaf(so_far);
    }
  }
  return result;
}

Expr sum_form(Lowering& lowering, const Node& node, const std::string& member) {
  return loop(lowering, node, member, true);
}
Expr product_form(Lowering& lowering, const Node& node, const std::string& member) {
  return loop(lowering, node, member, false);
}

/// iterate(x, start, n, body): body applied n times.
Expr iterate_form(Lowering& lowering, const Node& node, const std::string& member) {
  check_shape(lowering, node, member, "iterate(x, 1/2, 5, x^2 + x)");
  const std::string& name = lowering.variable(node);
  Engine& engine = lowering.engine();
  const std::optional<std::int64_t> count =
      whole(engine.without_leaves(lowering(node.children[2])));
  if (!count || *count < 0 || *count > most_terms)
    lowering.fail(node, fmt::format("iterate counts from 0 to {} steps", most_terms),
                  "for example iterate(x, 1/2, 5, x^2 + x)");
  Expr x = lowering(node.children[1]);
  for (std::int64_t step = 0; step < *count; ++step) {
    x = lowering.with(name, x, node.children[3]);
    if (!engine.is_symbolic()) {
      const Estimate now = engine.estimate(x);
      x = now.error == 0 ? Expr(Rational::exactly(now.value)) : engine.leaf(now);
    }
  }
  return x;
}

struct Ends {
  double low, high;
};
Ends ends_of(Lowering& lowering, const Node& node) {
  if (lowering.engine().is_symbolic())
    throw NotApplicable{node.text + " is found by numbers alone"};
  const Ends ends{lowering.engine().value(lowering(node.children[1])),
                  lowering.engine().value(lowering(node.children[2]))};
  if (!(ends.low < ends.high))
    lowering.fail(node, node.text + " needs an interval: its first end below its second",
                  "for example " + node.text + "(x, 0, 1, x^2)");
  return ends;
}

Expr root_form(Lowering& lowering, const Node& node, const std::string& member) {
  check_shape(lowering, node, member, "root(x, 0, 2, x^2 - 2)");
  const Ends ends = ends_of(lowering, node);
  const auto f = lowering.function_of(lowering.variable(node), node.children[3]);
  const double at_low = f(ends.low), at_high = f(ends.high);
  if (!(at_low * at_high <= 0))
    lowering.fail(node, "no root: the formula has the same sign at both ends",
                  "choose ends at which it has different signs");
  if (at_low == 0) return lowering.engine().leaf(ends.low);
  if (at_high == 0) return lowering.engine().leaf(ends.high);
  std::uintmax_t steps = 200;
  const auto [a, b] =
      boost::math::tools::toms748_solve(f, ends.low, ends.high, at_low, at_high,
                                        boost::math::tools::eps_tolerance<double>(52), steps);
  return lowering.engine().leaf((a + b) / 2, std::abs(b - a) + 1e-15 * std::abs(a));
}

Expr integral_form(Lowering& lowering, const Node& node, const std::string& member) {
  check_shape(lowering, node, member, "integral(x, 0, 1, x^2)");
  const Ends ends = ends_of(lowering, node);
  const auto f = lowering.function_of(lowering.variable(node), node.children[3]);
  double error = 0;
  const double value = boost::math::quadrature::gauss_kronrod<double, 31>::integrate(
      f, ends.low, ends.high, 12, 1e-13, &error);
  return lowering.engine().leaf(value, error);
}

/// The extreme over a grid, refined around its best point.
Expr extreme(Lowering& lowering, const Node& node, const std::string& member, double sign) {
  check_shape(lowering, node, member, "largest(x, 0, 1, x - x^2)", true);
  const Ends ends = ends_of(lowering, node);
  const auto f = lowering.function_of(lowering.variable(node), node.children[3]);
  constexpr int cells = 400;
  const auto at = [&](int cell) { return ends.low + (ends.high - ends.low) * cell / cells; };
  int best = 0;
  double best_value = std::numeric_limits<double>::infinity();
  for (int cell = 0; cell <= cells; ++cell) {
    const double value = -sign * f(at(cell));
    if (value < best_value) {
      best = cell;
      best_value = value;
    }
  }
  const auto [where, value] = boost::math::tools::brent_find_minima(
      [&](double x) { return -sign * f(x); }, at(std::max(best - 1, 0)),
      at(std::min(best + 1, cells)), 50);
  const bool refined = value < best_value;
  if (member == "at") {
    const double place = refined ? where : at(best);
    return lowering.engine().leaf(place, 1e-7 * (ends.high - ends.low));
  }
  const double found = -sign * (refined ? value : best_value);
  return lowering.engine().leaf(found, 1e-12 * std::abs(found));
}

Expr largest_form(Lowering& lowering, const Node& node, const std::string& member) {
  return extreme(lowering, node, member, 1);
}
Expr smallest_form(Lowering& lowering, const Node& node, const std::string& member) {
  return extreme(lowering, node, member, -1);
}

const std::vector<std::pair<std::string, Form>>& forms() {
  static const std::vector<std::pair<std::string, Form>> list = {
      {"sum", sum_form},           {"product", product_form},   {"iterate", iterate_form},
      {"root", root_form},         {"integral", integral_form}, {"largest", largest_form},
      {"smallest", smallest_form},
  };
  return list;
}

}  // namespace

Form find_form(const std::string& name) {
  for (const auto& [known, form] : forms())
    if (known == name) return form;
  return nullptr;
}

const std::vector<std::string>& form_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, form] : forms()) list.push_back(name);
    return list;
  }();
  return names;
}

}  // namespace scalecalc::claims
