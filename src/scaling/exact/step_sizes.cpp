#include "scaling/exact/step_sizes.hpp"

#include <algorithm>
#include <array>
#include <boost/math/constants/constants.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <map>
#include <string_view>

namespace scalecalc::exact {
namespace {

using boost::math::double_constants::pi;

bool is_call(const Expr& expr, std::string_view name) {
  return expr.kind() == Expr::Kind::function && expr.name() == name;
}

Error not_a_step(const Expr& update) {
  return {ErrorKind::input, "the update rule " + to_string(update) + " has no predicted size",
          "optimizer",
          "use one of g, sign(g), orthogonal(g) times powers of norm, rms and global_norm"};
}

bool is_symbol(const Expr& expr, std::string_view name) {
  return expr.kind() == Expr::Kind::symbol && expr.name() == name;
}

/// norm, rms and global_norm of g and theta as numbers.
double number_of(const Expr& expr, const MatrixSizes& sizes, double global) {
  switch (expr.kind()) {
    case Expr::Kind::number: return expr.number().to_double();
    case Expr::Kind::product: {
      double product = 1;
      for (const Expr& part : expr.operands()) product *= number_of(part, sizes, global);
      return product;
    }
    case Expr::Kind::power:
      return std::pow(number_of(expr.operands()[0], sizes, global),
                      number_of(expr.operands()[1], sizes, global));
    case Expr::Kind::function: {
      if (is_call(expr, "global_norm")) return global;
      const double norm = is_symbol(expr.operands()[0], "g") ? sizes.frobenius : sizes.theta;
      return is_call(expr, "rms") ? norm / std::sqrt(sizes.entries) : norm;
    }
    default: throw not_a_step(expr);
  }
}

bool is_size(const Expr& expr) {
  return (is_call(expr, "norm") || is_call(expr, "rms") || is_call(expr, "global_norm")) &&
         (is_symbol(expr.operands()[0], "g") || is_symbol(expr.operands()[0], "theta"));
}

bool is_scale(const Expr& expr) {
  if (expr.is_number() || is_size(expr)) return true;
  if (expr.kind() != Expr::Kind::product && expr.kind() != Expr::Kind::power) return false;
  return std::all_of(expr.operands().begin(), expr.operands().end(), is_scale);
}

}  // namespace

// Given the first factors x_1 .. x_T, an entry is Gaussian of variance |x|^2, so E|entry| is
// sqrt(2/pi) E|x| with |x| of the chi law: E|x| = sqrt(2) Gamma((T+1)/2)/Gamma(T/2).
double one_norm_shape(std::int64_t tokens) {
  const double t = static_cast<double>(tokens);
  return std::sqrt(2 / pi) * std::sqrt(2 / t) *
         std::exp(std::lgamma((t + 1) / 2) - std::lgamma(t / 2));
}

// The law of the singular value s = sqrt(eigenvalue) has density
// sqrt((b^2 - s^2)(s^2 - a^2))/(pi ratio s) on [a, b] = 1 -+ sqrt(ratio); with s = sqrt(1 + ratio -
// 2 sqrt(ratio) cos t) the mean of s is the integral of (2/pi) sin^2(t)/s over 0..pi.
double mean_singular_value(double ratio) {
  // A network has few shapes, and as many matrices as layers.
  constexpr std::size_t kShapes = 256;
  thread_local std::map<double, double> known;
  if (const auto found = known.find(ratio); found != known.end()) return found->second;
  const double root = std::sqrt(ratio);
  const auto value = [&](double t) {
    const double sine = std::sin(t);
    return sine * sine / std::sqrt(1 + ratio - 2 * root * std::cos(t));
  };
  const double mean =
      2 / pi * boost::math::quadrature::gauss<double, 100>::integrate(value, 0.0, pi);
  if (known.size() == kShapes) known.clear();
  known.emplace(ratio, mean);
  return mean;
}

double nuclear_shape(std::int64_t rows, std::int64_t columns, std::int64_t tokens) {
  std::array<double, 3> sizes = {static_cast<double>(rows), static_cast<double>(columns),
                                 static_cast<double>(tokens)};
  std::sort(sizes.begin(), sizes.end());
  return std::sqrt(sizes[0]) * mean_singular_value(sizes[0] / sizes[1]) *
         mean_singular_value(sizes[0] / sizes[2]);
}

MatrixSizes matrix_sizes(std::int64_t rows, std::int64_t columns, std::int64_t tokens,
                         double second, double grad_second, double spread) {
  MatrixSizes sizes;
  sizes.entries = static_cast<double>(rows) * static_cast<double>(columns);
  sizes.rank = static_cast<double>(std::min({rows, columns, tokens}));
  sizes.frobenius = std::sqrt(sizes.entries * grad_second);
  const double typical = sizes.frobenius * std::exp(-spread / 8);
  sizes.one = typical * std::sqrt(sizes.entries) * one_norm_shape(tokens);
  sizes.nuclear = typical * nuclear_shape(rows, columns, tokens);
  sizes.theta = std::sqrt(sizes.entries * second);
  return sizes;
}

bool Step::take_direction(const Expr& factor) {
  if (is_symbol(factor, "g"))
    direction_ = Direction::gradient;
  else if (is_call(factor, "sign") && is_symbol(factor.operands()[0], "g"))
    direction_ = Direction::sign;
  else if (is_call(factor, "orthogonal") && is_symbol(factor.operands()[0], "g"))
    direction_ = Direction::orthogonal;
  else
    return false;
  return true;
}

Step::Step(const Expr& update) {
  const bool single = update.kind() != Expr::Kind::product;
  int directions = 0;
  for (const Expr& part : single ? std::vector<Expr>{update} : update.operands()) {
    if (take_direction(part))
      ++directions;
    else if (is_scale(part))
      factor_ = factor_ * part;
    else
      throw not_a_step(update);
  }
  if (directions != 1) throw not_a_step(update);
}

double Step::factor(const MatrixSizes& sizes, double global) const {
  return number_of(factor_, sizes, global);
}

double Step::change(const MatrixSizes& sizes, double global) const {
  if (sizes.frobenius == 0) return 0;  // norm(g) may stand below
  const double scale = factor(sizes, global);
  switch (direction_) {
    case Direction::sign: return scale * sizes.one;
    case Direction::orthogonal: return scale * sizes.nuclear;
    case Direction::gradient: break;
  }
  return scale * sizes.frobenius * sizes.frobenius;
}

double Step::size(const MatrixSizes& sizes, double global) const {
  if (sizes.frobenius == 0) return 0;
  const double scale = factor(sizes, global);
  switch (direction_) {
    case Direction::sign: return scale * std::sqrt(sizes.entries);
    case Direction::orthogonal: return scale * std::sqrt(sizes.rank);
    case Direction::gradient: break;
  }
  return scale * sizes.frobenius;
}

const char* Step::shape() const {
  switch (direction_) {
    case Direction::sign: return "one";
    case Direction::orthogonal: return "nuclear";
    case Direction::gradient: break;
  }
  return "";
}

}  // namespace scalecalc::exact
