#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// How overlaps of two positions of an image go with those of their neighbours
/// (docs/theory/layers.md#conv-overlap).
namespace scalecalc::moments {

/// Correlation of the overlaps of (t, u) and of both so many positions further along one axis; of
/// independent tokens 1, and 0 past it.
struct OverlapLags {
  std::vector<double> near{1};
  double far = 0;  ///< past those

  double at(std::size_t lag) const { return lag < near.size() ? near[lag] : far; }
};

/// A window of `kernel` taps along the axis, each `stride` positions: the variance that its average
/// keeps, and the correlations of what comes out.
struct WindowedLags {
  double kept = 1;
  OverlapLags lags;
};
inline WindowedLags through_window(const OverlapLags& in, std::size_t kernel, std::size_t stride) {
  // kernel - |d| pairs of taps are d apart.
  const auto sum = [&](std::size_t apart) {
    double all = static_cast<double>(kernel) * in.at(apart);
    for (std::size_t d = 1; d < kernel; ++d)
      all += static_cast<double>(kernel - d) *
             (in.at(apart + d) + in.at(apart > d ? apart - d : d - apart));
    return all;
  };
  const double own = sum(0);
  WindowedLags out;
  out.kept = own / static_cast<double>(kernel * kernel);
  out.lags.far = own > 0 ? in.far * static_cast<double>(kernel * kernel) / own : 1;
  out.lags.near.clear();
  for (std::size_t lag = 0; lag * stride < in.near.size() + kernel - 1; ++lag)
    out.lags.near.push_back(own > 0 ? sum(lag * stride) / own : 1);
  return out;
}

/// Of an upsampling, each position `factor` times along the axis.
inline OverlapLags repeated_lags(const OverlapLags& in, std::size_t factor) {
  OverlapLags out;
  out.far = in.far;
  out.near.assign(factor * in.near.size(), 0);
  for (std::size_t lag = 0; lag < out.near.size(); ++lag)
    for (std::size_t at = 0; at < factor; ++at)
      out.near[lag] += in.at((at + lag) / factor) / static_cast<double>(factor);
  return out;
}

/// A transposed convolution along the axis: outputs of one remainder at the stride share taps, and
/// pairs of two remainders have no overlap, by which `kept` is of pairs of any.
struct TransposedLags {
  double kept = 1;    ///< variance about each pair's own mean, over that of the mean of all
  double uneven = 1;  ///< E (mean of a pair)^2/(mean of all)^2
  OverlapLags lags;
};
inline TransposedLags through_transposed(const OverlapLags& in, std::size_t kernel,
                                         std::size_t stride) {
  const auto taps = [&](std::size_t remainder) {
    return remainder < kernel ? (kernel - remainder + stride - 1) / stride : 0;
  };
  // Of outputs `lag` apart, over the remainders of the first.
  const auto sum = [&](std::size_t lag) {
    double all = 0;
    for (std::size_t first = 0; first < stride; ++first) {
      const std::size_t apart = (first + lag) / stride, other = (first + lag) % stride;
      for (std::size_t a = 0; a < taps(first); ++a)
        for (std::size_t b = 0; b < taps(other); ++b)
          all += in.at(apart + a > b ? apart + a - b : b - apart - a);
    }
    return all;
  };
  TransposedLags out;
  const double own = sum(0), remainders = static_cast<double>(stride),
               all = static_cast<double>(kernel);
  double squares = 0;
  for (std::size_t remainder = 0; remainder < stride; ++remainder)
    squares += static_cast<double>(taps(remainder) * taps(remainder));
  out.kept = remainders * remainders * own / (all * all);
  out.uneven = remainders * remainders * squares / (all * all);
  out.lags.far = own > 0 ? in.far * squares / own : 1;
  out.lags.near.clear();
  const std::size_t reach = stride * (in.near.size() + kernel / stride + 1);
  for (std::size_t lag = 0; lag < reach; ++lag)
    out.lags.near.push_back(own > 0 ? sum(lag) / own : 1);
  return out;
}

/// Of a sum of two parts of these variances.
inline OverlapLags mixed_lags(const OverlapLags& a, double of_a, const OverlapLags& b,
                              double of_b) {
  const double all = of_a + of_b, p = all > 0 ? of_a / all : 1;
  OverlapLags out;
  out.near.resize(std::max(a.near.size(), b.near.size()));
  for (std::size_t lag = 0; lag < out.near.size(); ++lag)
    out.near[lag] = p * a.at(lag) + (1 - p) * b.at(lag);
  out.far = p * a.far + (1 - p) * b.far;
  return out;
}

/// Features of new weights: their products go with the tokens' own correlations, which are those
/// of overlaps, twice.
inline OverlapLags squared_lags(OverlapLags lags) {
  for (double& one : lags.near) one *= one;
  lags.far *= lags.far;
  return lags;
}

}  // namespace scalecalc::moments
