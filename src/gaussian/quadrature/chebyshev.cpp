#include "gaussian/quadrature/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace scalecalc::integration {
namespace {

constexpr int count = 20;
constexpr int most_depth = 24;

/// sum c_k T_k(t), by Clenshaw's recurrence.
double sum_of(const std::vector<double>& c, double t) {
  double one = 0, two = 0;
  for (std::size_t k = c.size(); k-- > 1;) {
    const double next = 2 * t * one - two + c[k];
    two = one;
    one = next;
  }
  return t * one - two + c[0];
}

/// The coefficients of the derivative by t.
std::vector<double> differentiated(const std::vector<double>& c) {
  std::vector<double> d(c.size() + 1, 0.0);
  for (std::size_t k = c.size() - 1; k > 0; --k) {
    d[k - 1] = d[k + 1] + 2 * static_cast<double>(k) * c[k];
  }
  d[0] /= 2;
  d.resize(c.size() - 1);
  return d;
}

}  // namespace

PiecewiseChebyshev::PiecewiseChebyshev(const std::function<Sample(double)>& f, double low,
                                       double high, double tolerance) {
  build(f, low, high, tolerance, 0);
}

void PiecewiseChebyshev::build(const std::function<Sample(double)>& f, double low, double high,
                               double tolerance, int depth) {
  const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
  std::vector<double> values(count), c(count);
  double error = 0, size = 0;
  for (int j = 0; j < count; ++j) {
    const auto [value, bound] = f(middle + half * std::cos(std::numbers::pi * (j + 0.5) / count));
    values[static_cast<std::size_t>(j)] = value;
    error = std::max(error, bound);
    size = std::max(size, std::fabs(value));
  }
  for (int k = 0; k < count; ++k) {
    double sum = 0;
    for (int j = 0; j < count; ++j) {
      sum +=
          values[static_cast<std::size_t>(j)] * std::cos(std::numbers::pi * k * (j + 0.5) / count);
    }
    c[static_cast<std::size_t>(k)] = (k == 0 ? 1.0 : 2.0) / count * sum;
  }
  double tail = 0;
  for (int k = count - 3; k < count; ++k) tail += std::fabs(c[static_cast<std::size_t>(k)]);
  // Below the noise of the samples halving does not help.
  if (tail > std::max(tolerance, 4 * error) && depth < most_depth) {
    build(f, low, middle, tolerance, depth + 1);
    build(f, middle, high, tolerance, depth + 1);
    return;
  }
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * size;
  // Lebesgue's constant of 20 points is below 3.
  pieces_.push_back({low, high, 2 * tail + 3 * error + rounding, std::move(c)});
}

const PiecewiseChebyshev::Piece& PiecewiseChebyshev::piece(double at) const {
  const auto found = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                      [](double x, const Piece& piece) { return x < piece.low; });
  return found == pieces_.begin() ? *found : *(found - 1);
}

double PiecewiseChebyshev::value(double at) const {
  const Piece& p = piece(at);
  return sum_of(p.coefficients, (2 * at - p.low - p.high) / (p.high - p.low));
}

double PiecewiseChebyshev::error(double at) const {
  return piece(at).error;
}

PiecewiseChebyshev::Value PiecewiseChebyshev::derivatives(double at) const {
  const Piece& p = piece(at);
  const double t = (2 * at - p.low - p.high) / (p.high - p.low), unit = 2 / (p.high - p.low);
  const std::vector<double> first = differentiated(p.coefficients);
  const std::vector<double> second = differentiated(first);
  return {sum_of(p.coefficients, t), unit * sum_of(first, t), unit * unit * sum_of(second, t),
          p.error};
}

}  // namespace scalecalc::integration
