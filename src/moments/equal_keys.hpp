#pragma once

#include <algorithm>

#include "moments/attention_keys.hpp"

/// What comes back to keys of one word (docs/theory/attention.md#word-gradients).
namespace scalecalc::moments {

/// Of two equal keys the later one gets what both get: it is seen by fewer queries.
template <class N>
double later_share(const Alike<N>& /*keys*/) {
  return 1;
}
inline double later_share(const PerPosition& keys) {
  PerPosition later = keys;
  for (Eigen::Index t = 0; t < keys.second.size(); ++t)
    for (Eigen::Index u = 0; u <= t; ++u) later.cross(t, u) = later.cross(u, t) = keys.second[t];
  const Alike<double> mean = average(later);
  return mean.second > 0 ? std::clamp(mean.cross / mean.second, 0.0, 1.0) : 1;
}

/// E g_s g_r of two equal keys over E g_s^2: sums over words, of which `of_words` has the squares,
/// have beyond those of tokens what pairs of equal tokens make. Frequent words take of softmax what
/// they have alone.
inline double equal_share(const Alike<double>& of_words, const Alike<double>& of_tokens,
                          double same, const KeyCounts<double>& counts) {
  const double pairs = same * (counts.keys - 1) * of_tokens.second;
  return pairs > 0 ? std::clamp((of_words.second - of_tokens.second) / pairs, 0.0, 1.0) : 1;
}
inline double equal_share(const PerPosition& of_words, const PerPosition& of_tokens, double same,
                          const KeyCounts<double>& counts) {
  PerPosition pairs = of_tokens;
  for (Eigen::Index t = 0; t < pairs.second.size(); ++t)
    pairs.second[t] *= same * (counts.causal ? pairs.positions->at[t] : counts.keys - 1);
  const double all = average(pairs).second;
  const double beyond = average(of_words).second - average(of_tokens).second;
  return all > 0 ? std::clamp(beyond / all, 0.0, 1.0) : 1;
}

}  // namespace scalecalc::moments
