#include "moments/attention_rows.hpp"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <cmath>

namespace scalecalc::moments {
namespace {

/// 1 + 1/2 + .. + 1/n
double harmonic(double n) {
  return boost::math::digamma(n + 1) + boost::math::constants::euler<double>();
}

}  // namespace

RowsVariance rows_variance(const SoftmaxOrders& row, double tau2, double c) {
  const double rest = 1 - row.p2;
  if (!(rest > 0)) return {};
  const double uneven = std::max(1.0, 18.0 / 35 / rest);
  return {uneven * (1 + 2 * row.p2) - 1, uneven - 1, ties_together(tau2, c)};
}

double ties_together(double tau2, double c) {
  constexpr double of_ties = M_PI * M_PI / 3 - 2;
  return 1 / std::sqrt(1 + std::max(0.0, tau2 * (1 - c * c)) / of_ties);
}

double average_of_rows(const Attention& layer, const RowsVariance& rows, double cosine,
                       const Counts& over) {
  const auto heads = static_cast<double>(layer.heads);
  const bool are_numbers = layer.head_width == 1;
  const double together =
      are_numbers ? 1 - std::acos(std::clamp(cosine, -1.0, 1.0)) / M_PI : rows.together;
  const double group = are_numbers ? heads / static_cast<double>(layer.kv_heads) : 1;
  const double others = together * (over.tokens - 1) + (group - 1) / 2 * over.tokens;
  return (rows.own + rows.ties * others) / (heads * over.samples());
}

double own_weight(const Attention& layer, double tokens) {
  if (layer.over_memory) return 0;
  if (!layer.causal) return 1 / tokens;
  const double most =
      layer.window > 0 ? std::min(tokens, static_cast<double>(layer.window)) : tokens;
  return (harmonic(most) + (tokens - most) / most) / tokens;
}

}  // namespace scalecalc::moments
