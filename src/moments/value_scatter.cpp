#include "moments/value_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace scalecalc::moments {
namespace {

/// phi, phi'^2 and (u phi')^2 over equal steps of a normal variable.
struct Values {
  std::vector<double> weight, phi, h, slope, input;
  double mean = 0, second = 0, of_slope = 0, of_input = 0;

  Values(const Activation& activation, double at, double variance) {
    constexpr double reach = 6, step = 0.2;
    std::vector<double> u;
    for (double z = -reach; z < reach + step / 2; z += step) {
      weight.push_back(step / std::sqrt(2 * std::numbers::pi) * std::exp(-z * z / 2));
      input.push_back(std::sqrt(variance) * z);
      u.push_back(at + input.back());
    }
    phi.resize(u.size());
    h.resize(u.size());
    activation.evaluate(u.data(), phi.data(), h.data(), u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      slope.push_back(h[i] * h[i]);
      input[i] *= input[i] * slope[i];
      mean += weight[i] * phi[i];
      second += weight[i] * phi[i] * phi[i];
      of_slope += weight[i] * slope[i];
      of_input += weight[i] * input[i];
    }
  }
};

/// E e^(-t s^2) of n values about one centre, and the same with phi'^2 or (u phi')^2 of one of
/// them: powers of E e^(-(t/n) (phi - centre)^2).
struct Transforms {
  double all = 0, slope = 0, input = 0;
  void add(const Transforms& other, double factor) {
    all += factor * other.all;
    slope += factor * other.slope;
    input += factor * other.input;
  }
};
Transforms about(const Values& values, double centre, double t, double count) {
  Transforms one;
  for (std::size_t i = 0; i < values.phi.size(); ++i) {
    const double apart = values.phi[i] - centre;
    const double share = values.weight[i] * std::exp(-t / count * apart * apart);
    one.all += share;
    one.slope += share * values.slope[i];
    one.input += share * values.input[i];
  }
  const double others = std::pow(one.all, count - 1);
  return {others * one.all, others * one.slope, others * one.input};
}

/// Values about their mean: a Gaussian over all centres makes the mean's part of the square,
/// e^(t mean^2) (t/pi)^(1/2) int e^(-t a^2 ...) da.
Transforms about_mean(const Values& values, double variance, double t, double count) {
  constexpr double reach = 5, step = 0.5;
  const double deviation = std::sqrt(1 / (2 * t) + variance / count);
  Transforms sum;
  for (double z = -reach; z < reach + step / 2; z += step)
    sum.add(about(values, values.mean + deviation * z, t, count),
            std::sqrt(t / std::numbers::pi) * step * deviation);
  return sum;
}

}  // namespace

/// 1/s^2 and 1/s^4 are the integrals of e^(-t s^2) and t e^(-t s^2), by equal steps of ln t.
ValueScatter value_scatter(const Activation& activation, double mean, double variance, double count,
                           bool centred, double eps) {
  ValueScatter scatter;
  const Values values(activation, mean, variance);
  const double size = values.second - (centred ? values.mean * values.mean : 0);
  scatter.size = std::max(size, 0.0);
  scatter.slope = values.of_slope;
  if (centred && size > 0) {
    double along = 0, squares = 0;
    for (std::size_t i = 0; i < values.phi.size(); ++i) {
      const double apart = values.phi[i] - values.mean;
      along += values.weight[i] * values.h[i] * apart;
      squares += values.weight[i] * values.slope[i] * apart * apart;
    }
    scatter.tied_second = squares / size - values.of_slope;
    scatter.tied_cross = along * along / size;
  }
  if (!(size > 0) || !(values.of_slope > 0) || !(values.of_input > 0) || count == 0) return scatter;
  // Steps of u resolve e^(-t phi^2/n) up to `last`, past which few values decide: s^2 is as a sum
  // of as many squares there.
  constexpr double step = 0.3, first = 1e-4, last = 30;
  Transforms inverse, bottom;
  double square = 0, t = first / size, at = t;
  inverse = {t, t * values.of_slope, t * values.of_input};
  for (; t < last * count / size; t *= std::exp(step)) {
    at = t;
    bottom = {};
    bottom.add(centred ? about_mean(values, size, t, count) : about(values, 0, t, count),
               std::exp(-t * eps));
    inverse.add(bottom, step * t);
    square += step * t * t * bottom.all;
  }
  constexpr double least = 0.25;
  const double power = (centred ? count - 1 : count) / 2;
  inverse.add(bottom, at * (1 / std::max(power - 1, least) - step / 2));
  square += at * at * (1 / std::max(power - 2, least) - step / 2) * bottom.all;
  scatter.inverse = inverse.all * (size + eps);
  scatter.square = square / (inverse.all * inverse.all);
  scatter.slopes = inverse.slope / (values.of_slope * inverse.all);
  scatter.inputs = inverse.input / (values.of_input * inverse.all);
  return scatter;
}

/// Given u a value is Gaussian, and E e^(-t (y - a)^2) = e^(-t a^2/(1 + 2 t phi^2))/(1 + 2 t
/// phi^2)^(1/2); a Gaussian over all centres a as in about_mean.
double gated_inverse(const Activation& activation, double mean, double variance, double count) {
  constexpr double first = -10, last = 16, step = 0.5, reach = 6, fine = 0.5;
  // u near where phi is 0 decides for large t: steps of its logarithm on either side of the mean.
  std::vector<double> u, weight;
  const double deviation = std::sqrt(variance);
  constexpr double from = -16, to = 2, log_step = 0.2;
  double chances = 0;
  for (const double side : {-1.0, 1.0})
    for (double l = from; l < to; l += log_step) {
      const double z = std::exp(l);
      u.push_back(mean + side * deviation * z);
      weight.push_back(log_step * z * std::exp(-z * z / 2));
      chances += weight.back();
    }
  std::vector<double> phi(u.size()), slope(u.size());
  activation.evaluate(u.data(), phi.data(), slope.data(), u.size());
  double size = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    weight[i] /= chances;
    size += weight[i] * phi[i] * phi[i];
  }
  if (!(size > 0)) return 1;
  double inverse = 0, t = 0, all = 0;
  for (double l = first; l < last; l += step) {
    t = std::exp(l) / size;
    const double spread = std::sqrt((1 / (2 * t) + size) / count);
    all = 0;
    for (double z = -reach; z < reach + fine / 2; z += fine) {
      const double a = spread * z;
      double one = 0;
      for (std::size_t i = 0; i < u.size(); ++i) {
        const double wide = 1 + 2 * t * phi[i] * phi[i];
        one += weight[i] * std::exp(-t * a * a / wide) / std::sqrt(wide);
      }
      all += std::pow(one, count);
    }
    all *= std::sqrt(count * t / std::numbers::pi) * fine * spread;
    inverse += step * t * all;
  }
  // Of |x|^2 of `count` - 1 values the rest falls as a power of t.
  constexpr double least = 0.5;
  inverse += t * all / std::max((count - 3) / 2, least);
  return inverse * size * (count - 1);
}

ValueScatter value_scatter_of_sizes(const Activation& activation, double mean, double variance,
                                    double sizes, double count, bool centred, double eps) {
  ValueScatter whole = value_scatter(activation, mean, variance, count, centred, eps);
  if (!(sizes > least_sizes) || !(whole.size > 0)) return whole;
  double size = 0, slope = 0, inverse = 0, square = 0, slopes = 0, inputs = 0, input = 0;
  const double total = over_sizes(sizes, [&](double q, double weight) {
    const ValueScatter of = value_scatter(activation, mean, variance * q, count, centred, eps);
    if (!(of.size > 0)) return;
    const double by = of.inverse / (of.size + eps);
    size += weight * of.size;
    slope += weight * of.slope;
    inverse += weight * by;
    square += weight * by * by * of.square;
    slopes += weight * of.slope * by * of.slopes;
    input += weight * q * of.slope;
    inputs += weight * q * of.slope * by * of.inputs;
  });
  if (!(inverse > 0) || !(slope > 0)) return whole;
  whole.inverse = inverse / total * (size / total + eps);
  whole.square = square * total / (inverse * inverse);
  whole.slopes = slopes * total / (slope * inverse);
  whole.inputs = inputs * total / (input * inverse);
  return whole;
}

}  // namespace scalecalc::moments
