#include "moments/constant_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace scalecalc::moments {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// Pieces between breaks that have no slope at any of three places.
std::vector<std::pair<double, double>> constant_pieces(const Activation& activation) {
  std::vector<double> ends{-infinite};
  for (const Break& at : activation.breaks()) ends.push_back(at.at);
  ends.push_back(infinite);
  std::vector<std::pair<double, double>> found;
  for (std::size_t n = 0; n + 1 < ends.size() && ends.size() > 2; ++n) {
    constexpr double reach = 8;
    const double low = std::isinf(ends[n]) ? ends[n + 1] - reach : ends[n];
    const double high = std::min(ends[n + 1], low + reach);
    bool flat = true;
    for (const double share : {0.2, 0.5, 0.9})
      flat = flat && activation.slope(low + share * (high - low)) == 0;
    if (flat) found.emplace_back(ends[n], ends[n + 1]);
  }
  return found;
}

/// f averaged over N(0, 1).
template <class F>
double normal_mean(const F& f) {
  constexpr double reach = 7, step = 0.1;
  double sum = 0, total = 0;
  for (double z = -reach; z <= reach; z += step) {
    const double weight = std::exp(-z * z / 2);
    sum += weight * f(z);
    total += weight;
  }
  return sum / total;
}

}  // namespace

FeatureScatter feature_scatter(const Activation& activation, const Alike<double>& x,
                               const Counts& over, double features, double eps) {
  FeatureScatter scatter;
  const double q = x.second - x.mean * x.mean;
  if (!(q > 0) || over.samples() < 2) return scatter;
  const double c = std::clamp((mean_of_pairs(x, over) - x.mean * x.mean) / q, 0.0, 1.0);
  const double shared = std::sqrt(q * c), own = std::sqrt(q * (1 - c));
  constexpr double reach = 6, step = 0.1;
  std::vector<double> z, weight;
  for (double at = -reach; at <= reach; at += step) {
    z.push_back(at);
    weight.push_back(std::exp(-at * at / 2));
  }
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  std::vector<double> u(z.size()), f(z.size()), h(z.size());
  double size = 0, kept = 0, inverse = 0, square = 0, slope = 0, both = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    for (std::size_t k = 0; k < z.size(); ++k) u[k] = x.mean + shared * z[i] + own * z[k];
    activation.evaluate(u.data(), f.data(), h.data(), u.size());
    double mean = 0, second = 0, slopes = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
      mean += weight[k] / total * f[k];
      second += weight[k] / total * f[k] * f[k];
      slopes += weight[k] / total * h[k] * h[k];
    }
    const double s2 = std::max(second - mean * mean, 0.0), share = weight[i] / total;
    const double by = s2 + eps > 0 ? 1 / (s2 + eps) : 0;
    size += share * s2;
    kept += share * s2 * by;
    inverse += share * by;
    square += share * by * by;
    slope += share * slopes;
    both += share * slopes * by;
  }
  if (!(size > 0) || !(slope > 0) || !(inverse > 0)) return scatter;
  scatter.forward = kept * (size + eps) / size;
  if (!constant_pieces(activation).empty()) return scatter;
  scatter.tail = square / (inverse * inverse) - 1;
  if (scatter.tail > features) return scatter;
  scatter.inverse = inverse * (size + eps);
  scatter.slopes = both / (slope * inverse);
  return scatter;
}

/// A sample is mean + sqrt(q) (sqrt(a) z_0 + sqrt(b) z_1 + sqrt(1 - a - b) z): z_0 of the batch,
/// z_1 of a sequence.
ConstantSamples constant_samples(const Activation& activation, const Alike<double>& x,
                                 const Counts& over) {
  ConstantSamples chances;
  const double q = x.second - x.mean * x.mean;
  if (!(q > 0)) return chances;
  const auto cosine = [&](double cross) {
    return std::clamp((cross - x.mean * x.mean) / q, 0.0, 1.0);
  };
  const double within = cosine(x.cross);
  const double between = over.batch > 1 ? std::min(cosine(x.between), within) : 0;
  constexpr double least = 1e-12;
  const double own = std::sqrt(q * std::max(1 - within, least));
  const double of_batch = std::sqrt(q * between), of_sequence = std::sqrt(q * (within - between));
  const double n = over.tokens, samples = over.samples();
  for (const auto& [low, high] : constant_pieces(activation)) {
    const auto on_piece = [&](double at) {
      const double from = std::isinf(low) ? 0 : below((low - at) / own);
      const double to = std::isinf(high) ? 1 : below((high - at) / own);
      return std::clamp(to - from, 0.0, 1.0);
    };
    chances.all += normal_mean([&](double a) {
      const double at = x.mean + of_batch * a;
      const double sequence =
          normal_mean([&](double b) { return std::pow(on_piece(at + of_sequence * b), n); });
      return std::pow(sequence, over.batch);
    });
    const double shared = std::sqrt(q * (within + between * (over.batch - 1)) / over.batch);
    chances.few += normal_mean([&](double a) {
      const double p = on_piece(x.mean + shared * a), rest = 1 - p;
      return samples * rest * std::pow(p, samples - 2) * (p + (samples - 1) / 2 * rest);
    });
  }
  return chances;
}

}  // namespace scalecalc::moments
