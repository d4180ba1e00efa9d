#include "gaussian/quadrature/chebyshev.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace scalecalc::gaussian::quadrature {
namespace {

constexpr std::size_t count = 20;
constexpr int most_depth = 32;
constexpr std::size_t most_pieces = 128;

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

struct Samples {
  std::vector<double> values;
  double noise = 0;
};

/// At the roots of T_20.
Samples sampled(const std::function<Sample(double)>& f, double low, double high) {
  const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
  Samples samples;
  for (std::size_t j = 0; j < count; ++j) {
    const double t = std::cos(std::numbers::pi * (static_cast<double>(j) + 0.5) / count);
    const auto [value, error] = f(middle + half * t);
    samples.values.push_back(value);
    samples.noise = std::max(samples.noise, error);
  }
  return samples;
}

std::vector<double> coefficients_of(const std::vector<double>& values) {
  std::vector<double> c(count, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t j = 0; j < count; ++j) {
      const double turn = static_cast<double>(k) * (static_cast<double>(j) + 0.5) / count;
      c[k] += (k == 0 ? 1.0 : 2.0) / count * values[j] * std::cos(std::numbers::pi * turn);
    }
  }
  return c;
}

}  // namespace

double PiecewiseChebyshev::Piece::value(double at) const {
  return sum_of(coefficients, (2 * at - low - high) / (high - low));
}

PiecewiseChebyshev::PiecewiseChebyshev(const std::function<Sample(double)>& f, double low,
                                       double high, double tolerance,
                                       const std::vector<double>& checks) {
  build({f, tolerance, checks}, low, high, 0);
}

void PiecewiseChebyshev::build(const Task& task, double low, double high, int depth) {
  const auto [values, noise] = sampled(task.f, low, high);
  Piece made{low, high, 0, coefficients_of(values)};
  double tail = 0, off = 0, size = 0;
  for (std::size_t k = count - 3; k < count; ++k) tail += std::fabs(made.coefficients[k]);
  for (const double value : values) size = std::max(size, std::fabs(value));
  // Below the noise of the samples halving does not help.
  const double enough = std::max(task.tolerance, 4 * noise);
  for (const double at : task.checks) {
    if (tail > enough || off > enough || at < low || at > high) continue;
    off = std::max(off, std::fabs(made.value(at) - task.f(at).value));
  }
  const bool can_halve = depth < most_depth && pieces_.size() < most_pieces;
  if ((tail > enough || off > enough) && can_halve) {
    const double middle = 0.5 * (low + high);
    build(task, low, middle, depth + 1);
    build(task, middle, high, depth + 1);
    return;
  }
  // Lebesgue's constant of 20 points is below 3. Checks are an octave apart, which may miss the
  // worst by some.
  made.error = 2 * tail + 4 * off + 3 * noise + 8 * std::numeric_limits<double>::epsilon() * size;
  pieces_.push_back(std::move(made));
}

const PiecewiseChebyshev::Piece& PiecewiseChebyshev::piece(double at) const {
  const auto found = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                      [](double x, const Piece& piece) { return x < piece.low; });
  return found == pieces_.begin() ? *found : *(found - 1);
}

double PiecewiseChebyshev::value(double at) const {
  return piece(at).value(at);
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

}  // namespace scalecalc::gaussian::quadrature
