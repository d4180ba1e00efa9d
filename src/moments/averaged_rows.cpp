#include "moments/averaged_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "moments/unit_vectors.hpp"

namespace scalecalc::moments {

AveragedRow averaged_row(const HeadLengths& lengths, double keys, double tau2, double cosine,
                         double plain, const Smallness& small) {
  if (small.qk_norm) return unit_row(keys, tau2, cosine, plain, small);
  return lengths.row(keys, tau2, cosine, plain, small);
}

bool averages_pairs(const HeadLengths& lengths, const Smallness& small, double tau2,
                    Eigen::Index rows, bool alike) {
  if (small.qk_norm) return UnitPairs::covers(tau2);
  return rows <= PairLengths::most_rows && PairLengths::covers(lengths, tau2, alike);
}

AveragedPair average_pair(EqualPairLengths& known, const HeadLengths& lengths,
                          const Smallness& small, double keys, double tau2, double key_cosine,
                          double cosine, double turned, const SoftmaxOverlaps& mean) {
  if (small.qk_norm)
    return UnitPairs({keys}, {tau2}, key_cosine, small)(0, 0, cosine, turned, mean);
  if (tau2 <= HeadLengths::even) return lengths.even_pair(keys, tau2, cosine, mean);
  return known(lengths, keys, tau2, cosine, turned, mean);
}

namespace {

/// Of `size` rows, those whose pairs are integrated: all, or most_rows over equal steps of ln t.
std::vector<std::size_t> rows_asked(std::size_t size) {
  const auto most = static_cast<std::size_t>(PairLengths::most_rows);
  std::vector<std::size_t> out;
  for (std::size_t t = 0; t < size; ++t) {
    const double at = static_cast<double>(out.size()) / static_cast<double>(most - 1);
    const double from = std::pow(static_cast<double>(size), at) - 1;
    if (size <= most || t + 1 == size || static_cast<double>(t) >= from) out.push_back(t);
  }
  return out;
}

/// Where a pair of rows has its place among all.
std::size_t place_of(std::size_t t, std::size_t u) {
  const auto [fewer, more] = std::minmax(t, u);
  return more * (more + 1) / 2 + fewer;
}

/// Of a pair: O, A' and the square over those at the mean, and what cosine and `along` are beyond
/// those at the mean. They vary slowly with the rows.
using PairRatios = std::array<double, 5>;

/// Of a row: the asked one at or in front of it, and how far on to the next in ln(t + 1).
struct Between {
  std::size_t from;
  double share;
  Between(const std::vector<std::size_t>& asked, std::size_t row) : from(0), share(0) {
    while (from + 1 < asked.size() && asked[from + 1] <= row) ++from;
    if (asked[from] == row) return;
    const auto log = [](std::size_t t) { return std::log(static_cast<double>(t + 1)); };
    share = (log(row) - log(asked[from])) / (log(asked[from + 1]) - log(asked[from]));
  }
};

PairRatios between(const std::vector<std::size_t>& asked, const std::vector<PairRatios>& found,
                   std::size_t row, std::size_t other) {
  const Between t(asked, row), u(asked, other);
  PairRatios out{};
  for (const std::size_t i : {0, 1}) {
    for (const std::size_t k : {0, 1}) {
      const double share = (i == 0 ? 1 - t.share : t.share) * (k == 0 ? 1 - u.share : u.share);
      if (share == 0) continue;
      const PairRatios& at = found[place_of(t.from + i, u.from + k)];
      for (std::size_t q = 0; q < out.size(); ++q) out[q] += share * at[q];
    }
  }
  return out;
}

/// Lines between neighbours err by a quarter of what those between every second do.
double omitted_between(const std::vector<PairRatios>& found, std::size_t rows) {
  double most = 0;
  for (std::size_t i = 1; i + 1 < rows; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const double line = (found[place_of(i - 1, k)][0] + found[place_of(i + 1, k)][0]) / 2;
      most = std::max(most, std::fabs(found[place_of(i, k)][0] - line));
    }
  }
  return most / 4;
}

}  // namespace

double average_pairs(const HeadLengths& lengths, const RowScores& rows, double key_cosine,
                     const Smallness& small, int threads, Eigen::ArrayXXd& cosines,
                     Eigen::ArrayXXd& along, RowAverages& averages) {
  const auto size = static_cast<std::size_t>(rows.tau2.size());
  const std::vector<std::size_t> asked = rows_asked(size);
  std::vector<double> keys, tau2;
  for (const std::size_t t : asked) {
    keys.push_back(rows.keys[t]);
    tau2.push_back(rows.tau2[static_cast<Eigen::Index>(t)]);
  }
  std::optional<UnitPairs> normed;
  std::optional<PairLengths> free;
  if (small.qk_norm)
    normed.emplace(keys, tau2, key_cosine, small);
  else
    free.emplace(lengths, keys, tau2, threads);
  std::vector<PairRatios> found(asked.size() * (asked.size() + 1) / 2);
  double omitted = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t k = 0; k <= i; ++k) {
      const auto t = static_cast<Eigen::Index>(asked[i]), u = static_cast<Eigen::Index>(asked[k]);
      const double cosine = cosines(t, u), turned = cosine != 0 ? rows.c(t, u) / cosine : 1;
      const SoftmaxOverlaps& mean = averages.pair(t, u);
      const AveragedPair pair = small.qk_norm ? (*normed)(i, k, cosine, turned, mean)
                                              : (*free)(i, k, cosine, turned, mean);
      omitted = std::max(omitted, pair.omitted);
      const auto ratio = [](double value, double of) { return of != 0 ? value / of : 1; };
      found[place_of(i, k)] = {
          ratio(pair.overlaps.overlap, mean.overlap), ratio(pair.overlaps.a_prime, mean.a_prime),
          ratio(pair.overlaps.square, mean.square), pair.cosine - cosine, pair.along - along(t, u)};
    }
  }
  for (Eigen::Index t = 0; t < rows.tau2.size(); ++t) {
    for (Eigen::Index u = 0; u <= t; ++u) {
      const PairRatios of =
          between(asked, found, static_cast<std::size_t>(t), static_cast<std::size_t>(u));
      SoftmaxOverlaps& pair =
          averages.two[place_of(static_cast<std::size_t>(t), static_cast<std::size_t>(u))];
      pair.overlap *= of[0];
      pair.a_prime *= of[1];
      pair.square *= of[2];
      cosines(t, u) = cosines(u, t) = cosines(t, u) + of[3];
      along(t, u) = along(u, t) = along(t, u) + of[4];
    }
  }
  return asked.size() == size ? omitted : omitted + omitted_between(found, asked.size());
}

}  // namespace scalecalc::moments
