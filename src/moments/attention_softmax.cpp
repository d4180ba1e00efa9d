#include "moments/attention_softmax.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/parabola.hpp"
#include "moments/condensed_softmax.hpp"
#include "moments/head_lengths.hpp"
#include "moments/pair_sheets.hpp"

namespace scalecalc::moments {
namespace {

/// How far the scales of one sheet spread: the parabola leaves out about a sixteenth of its cube.
constexpr double kSpread = 0.02;
constexpr double kSame = 1e-9;
constexpr std::size_t kMostSheets = 64;

constexpr std::size_t kCount = sizeof(SoftmaxAverages) / sizeof(double);

SoftmaxAverages parabola(const std::vector<SoftmaxCurve>& curves, double x, double c) {
  using Values = std::array<double, kCount>;
  const auto at = [&](std::size_t k) { return std::bit_cast<Values>(curves[k](c)); };
  const Values out = base::parabola(at(0), at(1), at(2), x);
  SoftmaxAverages averages = std::bit_cast<SoftmaxAverages>(out);
  averages.two.error = curves[1].measured_error() + kSpread * kSpread * kSpread / 16;
  return averages;
}

/// Many keys and small tau2: sums over keys do not fluctuate, so that A is P2 and A' is O, and both
/// go as exponentials of tau2 and c tau2.
SoftmaxOrders lognormal_orders(std::int64_t keys, double tau2) {
  SoftmaxOrders out;
  out.p2 = out.p2_slope = out.p2_curvature = softmax_p2_lognormal(keys, tau2);
  out.a = out.a_slope = out.a_curvature = out.b = out.s = out.p2;
  out.t2 = 1;
  return out;
}
SoftmaxOverlaps lognormal_overlaps(std::int64_t keys, double tau2, double c) {
  SoftmaxOverlaps out;
  out.overlap = out.a_prime = softmax_overlap_lognormal(keys, tau2, c);
  out.a_second = tau2 * out.a_prime;
  out.a_third = tau2 * out.a_second;
  out.square = out.overlap * out.overlap;
  return out;
}
RowAverages lognormal_rows(const RowScores& scores) {
  RowAverages out;
  for (std::size_t t = 0; t < scores.keys.size(); ++t) {
    const Eigen::Index at = static_cast<Eigen::Index>(t);
    const std::int64_t keys = std::llround(scores.keys[t]);
    out.one.push_back(lognormal_orders(keys, scores.tau2[at]));
    for (Eigen::Index u = 0; u <= at; ++u) {
      const double tau2 = std::sqrt(scores.tau2[at] * scores.tau2[u]);
      out.two.push_back(lognormal_overlaps(keys, tau2, scores.c(at, u)));
    }
  }
  return out;
}

}  // namespace

SoftmaxLines::Sheet* SoftmaxLines::find(const ScoreLine& line) {
  for (Sheet& sheet : sheets_) {
    const ScoreLine& known = sheet.line;
    if (known.keys == line.keys && known.base == line.base && known.ratio == line.ratio &&
        std::abs(std::log(line.scale / known.scale)) <= kSpread) {
      return &sheet;
    }
  }
  return nullptr;
}

/// `x` in units of the sheet's spread.
SoftmaxAverages SoftmaxLines::interpolate(Sheet& sheet, double x, double c) {
  const auto curve = [&](double scale) {
    const ScoreLine& line = sheet.line;
    const double size = line.scale * scale;
    return SoftmaxCurve(line.keys, size * line.base, size * line.ratio);
  };
  if (sheet.curves.empty()) sheet.curves.push_back(curve(1));
  if (std::abs(x) * kSpread <= kSame) return sheet.curves[sheet.curves.size() / 2](c);
  if (sheet.curves.size() == 1) {
    sheet.curves.insert(sheet.curves.begin(), curve(std::exp(-kSpread)));
    sheet.curves.push_back(curve(std::exp(kSpread)));
  }
  return parabola(sheet.curves, x, c);
}

/// A line asked for twice is asked for often: by then it gets its curves.
SoftmaxAverages SoftmaxLines::operator()(const ScoreLine& line, double c) {
  const auto exact = [&] { return condensed_averages(line.keys, line.tau2(c), c); };
  if (line.tau2(c) <= HeadLengths::even) {
    if (even_.keys != line.keys || even_.c != c) even_ = {line.keys, c, exact()};
    return even_.averages;
  }
  const double largest = std::exp(kSpread) * line.tau2(0);
  if (!(line.scale > 0) || c < 0 || largest > kMostVariance) return exact();
  if (Sheet* sheet = find(line)) {
    if (++sheet->asked > 2) {
      return interpolate(*sheet, std::log(line.scale / sheet->line.scale) / kSpread, c);
    }
  } else {
    if (sheets_.size() == kMostSheets) sheets_.erase(sheets_.begin());
    sheets_.push_back({line, 1, {}});
  }
  return exact();
}

SoftmaxAverages Numbers::softmax_averages(const ScoreLine& line, double c) {
  if (options_.lognormal_softmax) {
    const double tau2 = line.tau2(c);
    return {lognormal_orders(line.keys, tau2), lognormal_overlaps(line.keys, tau2, c)};
  }
  return cache<SoftmaxLines>()(line, c);
}

RowAverages softmax_values(Numbers& calculus, const RowScores& scores) {
  if (calculus.options().lognormal_softmax) return lognormal_rows(scores);
  if (auto found = calculus.cache<PairSheets>()(scores, calculus.options().threads))
    return std::move(*found);
  const std::size_t size = scores.keys.size();
  std::vector<SoftmaxRows::Row> rows;
  std::vector<CondensedScores> condensed;
  std::vector<double> correlations;
  for (std::size_t t = 0; t < size; ++t) {
    const Eigen::Index at = static_cast<Eigen::Index>(t);
    const CondensedScores row(scores.tau2[at]);
    rows.push_back({scores.keys[t], row.tau2});
    condensed.push_back(row);
  }
  // Of two rows what both are beyond the integrals, as their geometric mean is.
  const auto of_pair = [&](Eigen::Index t, Eigen::Index u) {
    return CondensedScores(std::sqrt(scores.tau2[t] * scores.tau2[u]));
  };
  const auto each_pair = [&](const auto& use) {
    for (Eigen::Index t = 0; t < static_cast<Eigen::Index>(size); ++t)
      for (Eigen::Index u = 0; u <= t; ++u) use(of_pair(t, u), scores.c(t, u));
  };
  each_pair([&](const CondensedScores& pair, double c) {
    correlations.push_back(pair.is_beyond() ? pair.correlation(c) : c);
  });
  const int threads = calculus.options().threads;
  const SoftmaxRows prepared = calculus.cache<SoftmaxRowSheets>()(rows, threads);
  RowAverages out;
  for (std::size_t t = 0; t < size; ++t) out.one.push_back(condensed[t].orders(prepared.orders(t)));
  out.two = prepared.overlaps(correlations, threads);
  std::size_t next = 0;
  each_pair([&](const CondensedScores& pair, double c) {
    out.two[next] = pair.overlaps(out.two[next], c);
    ++next;
  });
  return out;
}

}  // namespace scalecalc::moments
