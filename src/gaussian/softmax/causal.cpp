#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/one.hpp"
#include "gaussian/softmax/pair.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc {
namespace softmax {
namespace {

constexpr std::size_t kQuantities = 2;  ///< p2 and a, or overlap and a_prime
/// Lengths on the geometric grid: of one row, of the shorter and of the longer of two; for long
/// rows kMore more.
constexpr std::size_t kLengths = 14, kShorter = 9, kLonger = 11, kMore = 4;
constexpr double kLong = 3000.0;
/// The blocks of sum_integers.
constexpr double kBlocks = 1e-7;
using Values = std::array<double, kQuantities>;
using Function = std::function<Values(double)>;

/// sum_{n=from}^{to} f(n) for f smooth in ln n: blocks of n/24 integers, each by the two points
/// that have the integers' mean and variance, so that a cubic is summed exactly.
Values sum_integers(std::int64_t from, std::int64_t to, const Function& f) {
  Values sum{};
  while (from <= to) {
    const std::int64_t count = std::min(std::max<std::int64_t>(1, from / 24), to - from + 1);
    const double length = static_cast<double>(count);
    const double middle = static_cast<double>(from) + 0.5 * (length - 1.0);
    const double offset = std::sqrt((length * length - 1.0) / 12.0);
    const Values low = f(middle - offset), high = f(middle + offset);
    for (std::size_t k = 0; k < kQuantities; ++k) sum[k] += 0.5 * length * (low[k] + high[k]);
    from += count;
  }
  return sum;
}

/// The logarithms of positive functions of a length, interpolated in the length's logarithm by the
/// polynomial through the nodes (barycentric).
class LengthCurve {
 public:
  LengthCurve(std::vector<double> nodes, const Function& f);
  Values operator()(double length) const;
  /// The largest relative error there.
  double error_at(double length, const Function& f) const;

 private:
  std::vector<double> nodes_, weights_;
  std::vector<Values> logs_;
};

LengthCurve::LengthCurve(std::vector<double> nodes, const Function& f)
    : nodes_(std::move(nodes)), weights_(nodes_.size(), 1.0) {
  for (const double node : nodes_) {
    Values at = f(node);
    for (double& value : at) value = std::log(value);
    logs_.push_back(at);
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (std::size_t j = 0; j < nodes_.size(); ++j) {
      if (i != j) weights_[i] /= std::log(nodes_[i] / nodes_[j]);
    }
  }
}

Values LengthCurve::operator()(double length) const {
  Values sum{};
  double total = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const double distance = std::log(length / nodes_[i]);
    if (distance == 0.0) return {std::exp(logs_[i][0]), std::exp(logs_[i][1])};
    const double weight = weights_[i] / distance;
    total += weight;
    for (std::size_t q = 0; q < kQuantities; ++q) sum[q] += weight * logs_[i][q];
  }
  for (double& value : sum) value = std::exp(value / total);
  return sum;
}

double LengthCurve::error_at(double length, const Function& f) const {
  const Values exact = f(length), fitted = (*this)(length);
  double worst = 0;
  for (std::size_t q = 0; q < kQuantities; ++q) {
    worst = std::max(worst, std::abs(fitted[q] / exact[q] - 1.0));
  }
  return worst;
}

/// H_n/n, the mean of 1/k for k <= n.
double mean_reciprocal(double n) {
  if (n > 64.0) {
    const double r = 1.0 / n;
    return (std::log(n) + std::numbers::egamma + r * (0.5 - r / 12.0)) * r;
  }
  double sum = 0;
  for (double k = 1.0; k <= n; k += 1.0) sum += 1.0 / k;
  return sum / n;
}

/// What A and A' have as a factor at tau2 = 0, and which is not smooth near one key: 1 - 1/n, n
/// being the smaller number of keys; and its mean over shorter rows.
double spread(double keys) {
  return 1.0 - 1.0 / keys;
}
double mean_spread(double keys) {
  return 1.0 - mean_reciprocal(keys - 1.0);
}

std::size_t grid_size(std::size_t usual, double keys) {
  return keys > kLong ? usual + kMore : usual;
}

/// A geometric grid from 2 or 3 keys to `to`, denser at both ends, with the ends.
std::vector<double> lengths(double from, double to, std::size_t count) {
  std::vector<double> nodes;
  const double last = static_cast<double>(count - 1);
  for (std::size_t k = 0; k < count; ++k) {
    const double share = 0.5 - 0.5 * std::cos(std::numbers::pi * static_cast<double>(k) / last);
    const double length = k + 1 == count ? to : from * std::pow(to / from, share);
    if (nodes.empty() || length > nodes.back() * (1.0 + 1e-12)) nodes.push_back(length);
  }
  return nodes;
}

std::vector<double> whole_lengths(double from, double to, std::size_t count) {
  std::vector<double> nodes = lengths(from, to, count);
  for (double& node : nodes) node = std::round(node);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

/// Between two nodes in the middle.
double check_length(const std::vector<double>& nodes) {
  const std::size_t k = nodes.size() / 2;
  return nodes.size() < 2 ? nodes.front() : std::sqrt(nodes[k - 1] * nodes[k]);
}

/// Averages over all rows of 1 .. keys keys; one key gives p2 = 1, a = 0.
std::array<Estimate, kQuantities> average_rows(std::int64_t keys, double tau2) {
  if (keys == 1) return {Estimate{1.0, 0.0}, Estimate{0.0, 0.0}};
  const Function one = [tau2](double length) {
    const SoftmaxOne at = integrate_one(length, tau2);
    return Values{at.p2.value, at.a.value / spread(length)};
  };
  const double total = static_cast<double>(keys);
  const std::vector<double> nodes = lengths(2.0, total, grid_size(kLengths, total));
  const LengthCurve curve(nodes, one);
  const Values sum = sum_integers(2, keys, [&](double length) {
    const Values at = curve(length);
    return Values{at[0], at[1] * spread(length)};
  });
  const double error = curve.error_at(check_length(nodes), one) + kBlocks;
  const double p2 = (1.0 + sum[0]) / total, a = sum[1] / total;
  return {Estimate{p2, p2 * error}, Estimate{a, a * error}};
}

/// Averages over pairs of different rows.
class RowPairs {
 public:
  RowPairs(double tau2, double correlation) : tau2_(tau2), correlation_(correlation) {}
  std::array<Estimate, kQuantities> average(std::int64_t keys);

 private:
  Values below(double more);
  double tau2_, correlation_, error_ = 0;
};

/// Means over the shorter rows of 1 .. more - 1 keys, that of A' over mean_spread; one key shared
/// gives O = 1/more, A' = 0.
Values RowPairs::below(double more) {
  const Function pair = [&](double fewer) {
    const SoftmaxPair at = integrate_pair(fewer, more, tau2_, correlation_);
    return Values{at.overlap.value, at.a_prime.value / spread(fewer)};
  };
  const std::vector<double> nodes = lengths(2.0, more, grid_size(kShorter, more));
  const LengthCurve curve(nodes, pair);
  error_ = std::max(error_, curve.error_at(check_length(nodes), pair));
  const Values sum = sum_integers(2, static_cast<std::int64_t>(more) - 1, [&](double fewer) {
    const Values at = curve(fewer);
    return Values{at[0], at[1] * spread(fewer)};
  });
  return {(1.0 / more + sum[0]) / (more - 1.0), sum[1] / (more - 1.0) / mean_spread(more)};
}

std::array<Estimate, kQuantities> RowPairs::average(std::int64_t keys) {
  // One pair has one key and two: O = 1/2, A' = 0.
  if (keys == 1) return {Estimate{1.0, 0.0}, Estimate{0.0, 0.0}};
  if (keys == 2) return {Estimate{0.5, 0.0}, Estimate{0.0, 0.0}};
  const Function mean = [&](double more) { return below(more); };
  const double total = static_cast<double>(keys);
  const std::vector<double> nodes = whole_lengths(3.0, total, grid_size(kLonger, total));
  const LengthCurve curve(nodes, mean);
  const double outer = curve.error_at(std::round(check_length(nodes)), mean);
  const Values sum = sum_integers(3, keys, [&](double more) {
    const Values at = curve(more);
    return Values{at[0] * (more - 1.0), at[1] * (more - 1.0) * mean_spread(more)};
  });
  const double pairs = 0.5 * total * (total - 1.0), error = outer + error_ + 2.0 * kBlocks;
  const double overlap = (0.5 + sum[0]) / pairs, a_prime = sum[1] / pairs;
  return {Estimate{overlap, overlap * error}, Estimate{a_prime, a_prime * error}};
}

}  // namespace
}  // namespace softmax

CausalSoftmax softmax_causal(std::int64_t keys, double tau2, double correlation) {
  softmax::check_keys(keys);
  softmax::check_variance(tau2);
  softmax::check_correlation(correlation);
  const auto rows = softmax::average_rows(keys, tau2);
  const auto pairs = softmax::RowPairs(tau2, correlation).average(keys);
  return {rows[0], pairs[0], rows[1], pairs[1]};
}

}  // namespace scalecalc
