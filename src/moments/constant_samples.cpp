#include "moments/constant_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "moments/norm_samples.hpp"
#include "moments/value_scatter.hpp"

namespace scalecalc::moments {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// Pieces between breaks that have no slope at any of three places; of a gate, where it is 0 there.
std::vector<std::pair<double, double>> constant_pieces(const Activation& activation,
                                                       bool is_gate = false) {
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
    if (is_gate) flat = flat && activation.value((low + high) / 2) == 0;
    if (flat) found.emplace_back(ends[n], ends[n + 1]);
  }
  return found;
}

/// Of the differences of samples: as many of one size have as even squares.
double dimensions(const Alike<double>& x, const Counts& over) {
  const SampleLevels levels = sample_levels(x, over);
  const double within = over.batch * (over.tokens - 1), between = over.batch - 1;
  const double total = within * levels.within + between * levels.between,
               squares = within * levels.within * levels.within +
                         between * levels.between * levels.between;
  return squares > 0 ? total * total / squares : over.samples() - 1;
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
                               const Counts& over, double features, double eps, double gaussian) {
  FeatureScatter scatter;
  const double q = x.second - x.mean * x.mean;
  if (!(q > 0) || over.samples() < 2) return scatter;
  const bool constant = !constant_pieces(activation).empty();
  const double c = std::clamp((mean_of_pairs(x, over) - x.mean * x.mean) / q, 0.0, 1.0);
  // Samples that are alike in groups, as those of one sequence, are as few as what differs has
  // dimensions, with the same square about their mean.
  const double count = dimensions(x, over) + 1;
  const double apart = std::min(1.0, (1 - c) * (1 - 1 / over.samples()) / (1 - 1 / count));
  const double shared = std::sqrt(q * (1 - apart)), own = q * apart;
  // Samples that have next to nothing of their own go as their differences do, phi' times Gaussian.
  constexpr double least_own = 1e-6;
  constexpr double reach = 5, step = 0.5;
  const bool exact = !constant && apart > least_own;
  double total = 0, size = 0, kept = 0, inverse = 0, square = 0, slope = 0, both = 0;
  FeatureScatter::Tie tie;
  for (double z = -reach; z < reach + step / 2; z += step) {
    const double at = x.mean + shared * z, weight = std::exp(-z * z / 2);
    const ValueScatter of = value_scatter(activation, at, own, exact ? count : 0, true, eps);
    const double by = of.size + eps > 0 ? of.inverse / (of.size + eps) : 0;
    total += weight;
    size += weight * of.size;
    kept += of.size > 0 ? weight * of.size / (of.size + eps) : 0;
    inverse += weight * by;
    square += weight * by * by * of.square;
    slope += weight * of.slope;
    both += weight * of.slope * by * of.slopes;
    tie.second += weight * by * of.tied_second;
    tie.cross += weight * by * of.tied_cross;
    if (shared == 0) break;
  }
  if (!(size > 0) || !(slope > 0) || !(inverse > 0)) return scatter;
  const double mean = size / total;
  if (eps > 0) scatter.forward = kept / total * (mean + eps) / mean;
  if (constant) return scatter;
  scatter.tail = square * total / (inverse * inverse) - 1;
  if (scatter.tail > features) return scatter;
  // Of n samples about their own mean s^2 has (n - 1)/n of their variance.
  const double drawn = exact ? mean * (1 - 1 / count) : mean;
  scatter.inverse = inverse / total * (drawn + eps) / (exact ? gaussian : 1);
  constexpr double light = 1.5, least_sum = -1e-9, fewest = 5;
  const double together = mean_of_pairs(x, over) - x.mean * x.mean;
  const bool is_grouped = exact && count < fewest && count < over.samples() - 1;
  scatter.unknown = is_grouped || (scatter.inverse > light && together < least_sum * q);
  scatter.slopes = both * total / (slope * inverse);
  scatter.tie = FeatureScatter::Tie{tie.second / inverse, tie.cross / inverse};
  return scatter;
}

/// A sample is mean + sqrt(q) (sqrt(a) z_0 + sqrt(b) z_1 + sqrt(1 - a - b) z): z_0 of the batch,
/// z_1 of a sequence.
ConstantSamples constant_samples(const Activation& activation, const Alike<double>& x,
                                 const Counts& over, bool is_gate) {
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
  // Of samples that add up to 0 no half line that ends at 0 has all.
  const double together = (mean_of_pairs(x, over) - x.mean * x.mean) / q;
  const double apart = std::clamp(1 + (samples - 1) * together, 0.0, 1.0);
  for (const auto& [low, high] : constant_pieces(activation, is_gate)) {
    const auto on_piece = [&](double at) {
      const double from = std::isinf(low) ? 0 : below((low - at) / own);
      const double to = std::isinf(high) ? 1 : below((high - at) / own);
      return std::clamp(to - from, 0.0, 1.0);
    };
    const bool one_side = x.mean == 0 && (low >= 0 || high <= 0);
    const double all = normal_mean([&](double a) {
      const double at = x.mean + of_batch * a;
      const double sequence =
          normal_mean([&](double b) { return std::pow(on_piece(at + of_sequence * b), n); });
      return std::pow(sequence, over.batch);
    });
    chances.all += one_side ? apart * all : all;
    if (one_side) chances.few += (1 - apart) * all;
    chances.zero_sum = chances.zero_sum || (one_side && apart < 1);
    const double shared = std::sqrt(q * (within + between * (over.batch - 1)) / over.batch);
    chances.few += normal_mean([&](double a) {
      const double p = on_piece(x.mean + shared * a), rest = 1 - p;
      return samples * rest * std::pow(p, samples - 2) * (p + (samples - 1) / 2 * rest);
    });
  }
  return chances;
}

double chance_of_none(const Activation& activation, double mean, double variance, double sizes,
                      double count, bool any, double dropped) {
  const auto pieces = constant_pieces(activation, !any);
  // A variance that has underflowed says nothing of where u is.
  if (pieces.empty() || !(variance > 0)) return dropped > 0 ? std::pow(dropped, count) : 0;
  const auto at = [&](double q) {
    const double deviation = std::sqrt(variance * q);
    double sum = 0;
    for (const auto& [low, high] : pieces) {
      const double from = std::isinf(low) ? 0 : below((low - mean) / deviation);
      const double to = std::isinf(high) ? 1 : below((high - mean) / deviation);
      sum += std::pow(dropped + (1 - dropped) * std::clamp(to - from, 0.0, 1.0), count);
    }
    return sum;
  };
  // The chance of one side of the mean is that of all sizes.
  const auto ends_at_mean = [&](const std::pair<double, double>& piece) {
    const auto is_end = [&](double end) { return std::isinf(end) || end == mean; };
    return is_end(piece.first) && is_end(piece.second);
  };
  if (!(sizes > least_sizes) || std::all_of(pieces.begin(), pieces.end(), ends_at_mean))
    return at(1);
  double sum = 0;
  const double total = over_sizes(sizes, [&](double q, double weight) { sum += weight * at(q); });
  return sum / total;
}

}  // namespace scalecalc::moments
