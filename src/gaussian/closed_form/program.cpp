#include "gaussian/closed_form/program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/deadline.hpp"
#include "gaussian/closed_form/bounded.hpp"
#include "symbolic/arithmetic.hpp"
#include "symbolic/big.hpp"
#include "symbolic/evaluate.hpp"

namespace scalecalc::gaussian {
namespace {

constexpr mpfr_prec_t constant_bits = 192, first_bits = 128, last_bits = 1 << 15;

constexpr std::array<const char*, 3> symbols{"q", "mu", "c"};

struct Hash {
  std::size_t operator()(const Expr& expr) const { return expr.node().hash; }
};

long double middle(const symbolic::Interval& value) {
  symbolic::Real sum(value.bits());
  mpfr_add(sum.get(), value.lower.get(), value.upper.get(), MPFR_RNDN);
  mpfr_div_2ui(sum.get(), sum.get(), 1, MPFR_RNDN);
  return mpfr_get_ld(sum.get(), MPFR_RNDN);
}

long double width(const symbolic::Interval& value) {
  symbolic::Real difference(value.bits());
  mpfr_sub(difference.get(), value.upper.get(), value.lower.get(), MPFR_RNDU);
  return mpfr_get_ld(difference.get(), MPFR_RNDU);
}

Bounded number_of(const symbolic::Interval& value) {
  const long double centre = middle(value);
  return {centre, width(value) + std::fabs(centre) * unit};
}

/// Good to two units in the last place of a double, or nothing but an underflow of one. An infinity
/// may be a power that overflows beside a probability that underflows.
bool is_good(const Bounded& value) {
  constexpr long double smallest = 0x1p-1076L;
  if (!std::isfinite(value.value)) return false;
  return value.error <= 0x1p-52L * std::fabs(value.value) ||
         std::fabs(value.value) + value.error < smallest;
}

}  // namespace

struct Program::Builder {
  Program& program;
  std::unordered_map<Expr, std::uint32_t, Hash> known;

  std::uint32_t place(Step step) {
    program.steps_.push_back(std::move(step));
    return static_cast<std::uint32_t>(program.steps_.size() - 1);
  }

  std::uint32_t build(const Expr& expr) {
    const auto found = known.find(expr);
    if (found != known.end()) return found->second;
    const std::uint32_t result = build_new(expr);
    known.emplace(expr, result);
    return result;
  }

  std::uint32_t build_new(const Expr& expr) {
    Step step;
    const bool variable = std::any_of(symbols.begin(), symbols.end(),
                                      [&](const char* name) { return expr.contains(name); });
    if (!variable) {
      step.expr = expr;
      step.enclosure =
          std::make_shared<const symbolic::Interval>(symbolic::enclose(expr, {}, constant_bits));
      step.constant = number_of(*step.enclosure);
      return place(std::move(step));
    }
    switch (expr.kind()) {
      case Expr::Kind::symbol:
        step.kind = Kind::input;
        step.count = static_cast<int>(std::find(symbols.begin(), symbols.end(), expr.name()) -
                                      symbols.begin());
        return place(std::move(step));
      case Expr::Kind::power: return build_power(expr);
      case Expr::Kind::sum: step.kind = Kind::sum; break;
      case Expr::Kind::product: step.kind = Kind::product; break;
      default:
        step.kind = Kind::function;
        step.function = expr.node().function;
        step.bounded = bounded_function(expr.name());
        break;
    }
    for (const Expr& operand : expr.operands()) step.arguments.push_back(build(operand));
    return place(std::move(step));
  }

  /// x^(n/2) for small n by products and a root.
  std::uint32_t build_power(const Expr& expr) {
    const Expr &base = expr.operands()[0], &exponent = expr.operands()[1];
    Step step;
    const std::uint32_t below = build(base);
    const auto doubled =
        exponent.is_number() ? (exponent.number() * Rational(2)).to_int64() : std::nullopt;
    if (!doubled || std::abs(*doubled) > 64) {
      step.kind = Kind::power;
      step.arguments = {below, build(exponent)};
      return place(std::move(step));
    }
    std::uint32_t from = below;
    int count = static_cast<int>(*doubled / 2);
    if (*doubled % 2 != 0) {
      const Expr rooted = sqrt(base);
      from = unary(Kind::root, below, 0, rooted);
      count = static_cast<int>(*doubled);
    }
    if (count == 1) return from;
    return unary(Kind::whole_power, from, count, expr);
  }

  std::uint32_t unary(Kind kind, std::uint32_t argument, int count, const Expr& expr) {
    const auto found = known.find(expr);
    if (found != known.end()) return found->second;
    Step step;
    step.kind = kind;
    step.arguments = {argument};
    step.count = count;
    const std::uint32_t result = place(std::move(step));
    known.emplace(expr, result);
    return result;
  }
};

Program::Program(const Expr& formula) {
  Builder{*this, {}}.build(formula);
}

Bounded Program::run(const Step& step, const Bounded* values, const double* inputs) const {
  const std::vector<std::uint32_t>& from = step.arguments;
  switch (step.kind) {
    case Kind::constant: return step.constant;
    case Kind::input: return {inputs[step.count], 0};
    case Kind::root: return gaussian::root(values[from[0]]);
    case Kind::whole_power: return gaussian::power(values[from[0]], step.count);
    case Kind::power: return gaussian::power(values[from[0]], values[from[1]]);
    case Kind::sum:
    case Kind::product: {
      Bounded total = values[from[0]];
      for (std::size_t k = 1; k < from.size(); ++k) {
        total = step.kind == Kind::sum ? gaussian::sum(total, values[from[k]])
                                       : gaussian::product(total, values[from[k]]);
      }
      return total;
    }
    case Kind::function: break;
  }
  constexpr std::size_t most = 3;
  if (!step.bounded || from.size() > most) {
    return {0, std::numeric_limits<long double>::infinity()};
  }
  std::array<Bounded, most> arguments;
  for (std::size_t k = 0; k < from.size(); ++k) arguments[k] = values[from[k]];
  return step.bounded(arguments.data());
}

Bounded Program::evaluate(const double* inputs) const {
  thread_local std::vector<Bounded> kept;
  if (kept.size() < steps_.size()) kept.resize(steps_.size());
  Bounded* values = kept.data();
  for (std::size_t k = 0; k < steps_.size(); ++k) values[k] = run(steps_[k], values, inputs);
  return values[steps_.size() - 1];
}

symbolic::Interval Program::enclose(const double* inputs, mpfr_prec_t bits) const {
  namespace math = symbolic::arithmetic;
  using symbolic::Interval;
  std::vector<Interval> values;
  values.reserve(steps_.size());
  for (const Step& step : steps_) {
    base::check_deadline();
    const std::vector<std::uint32_t>& from = step.arguments;
    switch (step.kind) {
      case Kind::constant:
        values.push_back(bits <= constant_bits ? *step.enclosure
                                               : symbolic::enclose(step.expr, {}, bits));
        break;
      case Kind::input: values.emplace_back(Rational::exactly(inputs[step.count]), bits); break;
      case Kind::root: values.push_back(math::pow(values[from[0]], Rational(1, 2))); break;
      case Kind::whole_power:
        values.push_back(math::pow(values[from[0]], Rational(step.count)));
        break;
      case Kind::power: values.push_back(math::pow(values[from[0]], values[from[1]])); break;
      case Kind::sum:
      case Kind::product: {
        Interval total = values[from[0]];
        for (std::size_t k = 1; k < from.size(); ++k) {
          total = step.kind == Kind::sum ? total + values[from[k]] : total * values[from[k]];
        }
        values.push_back(std::move(total));
        break;
      }
      case Kind::function: {
        std::vector<Interval> arguments;
        for (std::uint32_t place : from) arguments.push_back(values[place]);
        values.push_back(step.function->in_interval(arguments));
        break;
      }
    }
  }
  return std::move(values.back());
}

Bounded accurate(const Program& program, const double* inputs) {
  Bounded value = program.evaluate(inputs);
  if (is_good(value)) return value;
  const symbolic::WideExponents wide;
  for (mpfr_prec_t bits = first_bits; bits <= last_bits; bits *= 2) {
    mpfr_clear_overflow();
    const symbolic::Interval range = program.enclose(inputs, bits);
    value = number_of(range);
    if (is_good(value)) return value;
    const bool beyond = !range.is_nan() && mpfr_cmp_d(range.lower.get(), 0) > 0 &&
                        mpfr_cmp_ld(range.lower.get(), std::numeric_limits<long double>::max()) > 0;
    if (beyond) return {std::numeric_limits<long double>::infinity(), 0};
    // No digits mend a power past the largest exponent.
    if (mpfr_overflow_p() != 0) return {0, std::numeric_limits<long double>::infinity()};
  }
  return value;
}

}  // namespace scalecalc::gaussian
