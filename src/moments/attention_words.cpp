#include "moments/attention_words.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "moments/word_averages.hpp"

namespace scalecalc::moments {
namespace {

using State = Alike<double>;

State blend(const State& a, const State& b, double share) {
  return combine(a, b, [&](double s, double t) { return share * s + (1 - share) * t; });
}

/// f(a, b) of each factor.
template <class F>
Factors<State> each_factor(const Factors<State>& a, const Factors<State>& b, const F& f) {
  return {f(a.mix, b.mix),
          f(a.value, b.value),
          f(a.query, b.query),
          f(a.key, b.key),
          f(a.query_weight, b.query_weight),
          f(a.key_weight, b.key_weight),
          f(a.value_weight, b.value_weight),
          {f(a.feedback.mix, b.feedback.mix), f(a.feedback.values, b.feedback.values),
           f(a.feedback.query, b.feedback.query), f(a.feedback.key, b.feedback.key),
           f(a.feedback.key_weight, b.feedback.key_weight), f(a.feedback.score, b.feedback.score)},
          f(a.slope, b.slope),
          f(a.score, b.score)};
}

/// At a number of keys between two whole ones averages are linear in its inverse, as they are for
/// tokens of which two are equal or not.
Factors<State> at_keys(const FactorsOf<State>& factors, const ScoreInputs<double, State>& inputs,
                       double keys, Scores& scores) {
  Signal<State> source = inputs.source;
  ScoreInputs<double, State> seen{inputs.layer,   inputs.input,        source,
                                  inputs.q,       inputs.apart_k,      inputs.plain_apart_v,
                                  inputs.apart_v, inputs.source_means, inputs.score_scale,
                                  inputs.counts,  inputs.sum};
  seen.normed_keys = inputs.normed_keys;
  const double fewer = std::max(1.0, std::floor(keys));
  const double share = std::clamp((1 / keys - 1 / (fewer + 1)) * fewer * (fewer + 1), 0.0, 1.0);
  source.tokens = static_cast<std::int64_t>(fewer) + 1;
  const Factors<State> more = factors(seen, scores);
  if (share == 0) return more;
  source.tokens = static_cast<std::int64_t>(fewer);
  Scores of_fewer;
  const Factors<State> less = factors(seen, of_fewer);
  return each_factor(less, more,
                     [&](const State& a, const State& b) { return blend(a, b, share); });
}

/// f of each factor, by its kind: those of the mix, of words, of their slopes, and both of single
/// tokens.
template <class State, class Mixed, class Word, class Slope, class Token, class TokenSlope>
Factors<State> by_kind(const Factors<State>& words, const Factors<State>& tokens,
                       const Mixed& mixed, const Word& by_word, const Slope& by_slope,
                       const Token& by_token, const TokenSlope& by_token_slope) {
  return {mixed(words.mix),
          by_token(tokens.value),
          by_slope(words.query),
          by_token_slope(tokens.key),
          by_slope(words.query_weight),
          by_slope(words.key_weight),
          by_word(words.value_weight),
          {mixed(words.feedback.mix), by_token(tokens.feedback.values),
           by_slope(words.feedback.query), by_token_slope(tokens.feedback.key),
           by_slope(words.feedback.key_weight), by_token_slope(tokens.feedback.score)},
          by_token_slope(tokens.slope),
          by_token_slope(tokens.score)};
}

/// Shares of D_v in m_v/(1 - rate) - r_v, of each row.
double share_of_words(double plain, double masked) {
  return masked > 0 ? plain / masked : 1;
}
Eigen::ArrayXd share_of_words(const Eigen::ArrayXd& plain, const Eigen::ArrayXd& masked) {
  return (masked > 0).select(plain / masked, 1.0);
}

template <class X, class Mix, class Slope>
WordMasks<X> word_masks(const ScoreInputs<double, X>& inputs, const Factors<X>& found,
                        const Factors<X>& tokens, const Mix& by_token, const Slope& by_slope) {
  const auto words = share_of_words(inputs.plain_apart_v.second, inputs.apart_v.second);
  const auto both = [&](X of_words, const X& of_tokens) {
    of_words.second = words * of_words.second + (1 - words) * by_slope(of_tokens).second;
    return of_words;
  };
  const X mix = by_token(tokens.mix);
  return {mix, product(sum(inputs.apart_v, scaled(inputs.plain_apart_v, -1.0)), mix),
          both(found.query, tokens.query), both(found.query_weight, tokens.query_weight),
          both(found.key_weight, tokens.key_weight)};
}

/// Of equal frequencies over what words of unlike frequency make of one row, by what is summed
/// over: words, or single tokens (docs/theory/attention.md#unlike-words).
struct RowShares {
  double mix = 1, slope = 1;              ///< E sum P^2 and A of words
  double token_mix = 1, token_slope = 1;  ///< of tokens
};

/// Of fewer tokens the averages of word_averages do not say more than those of equal frequencies,
/// which are exact at two.
constexpr double kFewestTokens = 6, kManyTokens = 14;

/// E sum p^2 and A of as many equal keys, linear in the inverse between whole numbers.
SoftmaxOrders equal_keys(double keys, double tau2) {
  const double fewer = std::max(1.0, std::floor(keys));
  const double share = std::clamp((1 / keys - 1 / (fewer + 1)) * fewer * (fewer + 1), 0.0, 1.0);
  SoftmaxOrders out = softmax_orders(static_cast<std::int64_t>(fewer) + 1, tau2);
  const SoftmaxOrders less = softmax_orders(static_cast<std::int64_t>(fewer), tau2);
  out.p2 += share * (less.p2 - out.p2);
  out.a += share * (less.a - out.a);
  return out;
}

RowShares row_shares(const WordFrequencies& frequencies, const WordCounts& words, double tau2) {
  const double known =
      std::clamp((words.tokens - kFewestTokens) / (kManyTokens - kFewestTokens), 0.0, 1.0);
  RowShares shares;
  if (known == 0) return shares;
  const double variance = std::clamp(tau2, 0.0, kMostWordVariance);
  const WordAverages found = word_averages(frequencies, words.tokens, variance);
  const double keys = words.words(), all = words.squares * keys,
               of_tokens = words.different / words.tokens;
  const SoftmaxOrders row = equal_keys(keys, variance),
                      single = equal_keys(words.different, variance);
  const auto over = [&](double found_mean, double rule) {
    return found_mean > 0 && rule > 0 ? 1 + known * (found_mean / rule - 1) : 1;
  };
  shares.mix = over(found.words, all * row.p2);
  shares.slope = over(found.words_slope, all * row.a);
  shares.token_mix = over(found.tokens, of_tokens * single.p2);
  shares.token_slope = over(found.tokens_slope, of_tokens * single.a);
  return shares;
}

/// What words of unlike frequency take of two rows' sum, relative.
double unevenness(const WordCounts& words, double mix) {
  const double gathered = std::max(0.0, words.words() * mix - 1);
  return 2 * gathered * (words.cubes / words.squares - words.squares);
}

/// The words that each row sees.
class RowWords {
 public:
  RowWords(const ScoreInputs<double, PerPosition>& inputs, const Signal<PerPosition>& source) {
    const auto all = static_cast<double>(source.tokens);
    for (const int at : inputs.q.positions->at) {
      const double tokens = inputs.counts.causal ? at + 1.0 : all;
      rows_.push_back(word_counts(source.repeats, source.triples,
                                  different_among(source.different, all, tokens), tokens));
      words.push_back(rows_.back().words());
      different.push_back(rows_.back().different);
    }
    find_shares(word_frequencies(source.repeats, source.triples, source.different, all),
                row_scores(inputs).tau2);
  }

  /// `one`: times row t; of two rows that of the one with more keys. Of the share `same` of pairs,
  /// which ask alike, rows are equal but for the keys that one of them sees alone. `share` of
  /// what each row has; `apart`, of rows that ask differently, of the later.
  template <class One>
  PerPosition scaled_by(const PerPosition& x, double same, const One& one, double RowShares::*share,
                        const Eigen::ArrayXd* apart = nullptr) const {
    const auto as_later_row = [](const PerPosition& rows) { return as_later(rows); };
    return with_pairs(x, same, one, share, apart, as_later_row);
  }
  /// Likewise of slopes, of which rows that ask alike have what slopes_as_later() says. `mix`: of
  /// the words' weights.
  template <class One>
  PerPosition slopes(const PerPosition& x, double same, const One& one, double RowShares::*share,
                     const PerPosition& mix) const {
    const auto of_slopes = [&](const PerPosition& rows) { return slopes_as_later(rows, mix); };
    return with_pairs(x, same, one, share, nullptr, of_slopes);
  }
  Eigen::ArrayXd unevenness_of(const Eigen::ArrayXd& mix) const {
    Eigen::ArrayXd made(mix.size());
    for (Eigen::Index t = 0; t < mix.size(); ++t) made[t] = unevenness(rows_[as(t)], mix[t]);
    return made;
  }

  std::vector<double> words, different;

 private:
  static std::size_t as(Eigen::Index t) { return static_cast<std::size_t>(t); }

  /// `alike` makes of each row's what two that ask alike have in common.
  template <class One, class AskAlike>
  PerPosition with_pairs(const PerPosition& x, double same, const One& one,
                         double RowShares::*share, const Eigen::ArrayXd* apart,
                         const AskAlike& alike) const {
    PerPosition out = without_means(x);
    const Eigen::Index size = x.second.size();
    for (Eigen::Index t = 0; t < size; ++t)
      out.second[t] = one(rows_[as(t)]) * shares_[as(t)].*share * x.second[t];
    const PerPosition equal = alike(out);
    for (Eigen::Index t = 0; t < size; ++t)
      for (Eigen::Index u = 0; u <= t; ++u) {
        const double two = one(rows_[as(t)]) * (apart ? (*apart)[t] : 1) * x.cross(t, u);
        out.cross(t, u) = out.cross(u, t) = same * equal.cross(t, u) + (1 - same) * two;
      }
    return out;
  }

  /// Of rows half as long again as the one before, and linear in ln tokens between.
  void find_shares(const WordFrequencies& frequencies, const Eigen::ArrayXd& tau2) {
    constexpr double steps = 1.5;
    shares_.resize(rows_.size());
    std::size_t known = 0;
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      const bool ends = t + 1 == rows_.size();
      if (t > 0 && !ends && rows_[t + 1].tokens < steps * rows_[known].tokens &&
          rows_[t].tokens > kFewestTokens)
        continue;
      const bool is_like =
          t > 0 && rows_[t].tokens == rows_[t - 1].tokens &&
          tau2[static_cast<Eigen::Index>(t)] == tau2[static_cast<Eigen::Index>(t) - 1] &&
          known == t - 1;
      shares_[t] = is_like ? shares_[known]
                           : row_shares(frequencies, rows_[t], tau2[static_cast<Eigen::Index>(t)]);
      const double whole = std::log(rows_[t].tokens / rows_[known].tokens);
      for (std::size_t u = known + 1; u < t; ++u) {
        const double part = whole > 0 ? std::log(rows_[u].tokens / rows_[known].tokens) / whole : 0;
        for (double RowShares::*of :
             {&RowShares::mix, &RowShares::slope, &RowShares::token_mix, &RowShares::token_slope})
          shares_[u].*of = shares_[known].*of + part * (shares_[t].*of - shares_[known].*of);
      }
      known = t;
    }
  }

  std::vector<WordCounts> rows_;
  std::vector<RowShares> shares_;
};

/// Of the mix's factor, what two rows of one query have beyond rows of two over what one row has.
double equal_rows(const PerPosition& same, const PerPosition& apart) {
  const double two = average(apart).cross, one = average(same).second - two;
  return one > 0 ? std::clamp((average(same).cross - two) / one, 0.0, 1.0) : 1;
}

}  // namespace

/// Two tokens are one word or two, and the inverse of S2 keys is exact.
double WordCounts::words() const {
  const double free = 1 - 2 / std::max(tokens, 2.0);
  return free * squares / cubes + (1 - free) / squares;
}

double different_among(double different, double tokens, double fewer) {
  if (fewer >= tokens || different >= tokens * (1 - 1e-12)) return std::min(different, fewer);
  const auto among = [](double words, double count) {
    return words > 1 ? -words * std::expm1(count * std::log1p(-1 / words)) : 1.0;
  };
  double low = std::max(1.0, different), high = low;
  while (among(high, tokens) < different && high < 1e15) high *= 2;
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (among(middle, tokens) < different ? low : high) = middle;
  }
  return among(low, fewer);
}

WordCounts word_counts(double same, double triple, double different, double tokens) {
  WordCounts counts;
  counts.same = counts.of_keys = same;
  counts.triple = triple;
  counts.tokens = tokens;
  counts.different = std::max(different, 1.0);
  const double pairs = tokens * (tokens - 1);
  counts.squares = (tokens + pairs * same) / (tokens * tokens);
  counts.cubes =
      (tokens + 3 * pairs * same + pairs * (tokens - 2) * triple) / (tokens * tokens * tokens);
  return counts;
}

Factors<Alike<double>> word_factors(const FactorsOf<Alike<double>>& factors,
                                    const ScoreInputs<double, Alike<double>>& inputs,
                                    const WordCounts& words, Scores& scores,
                                    Seldom<WordMasks<Alike<double>>>& masks) {
  const double together = words.squares * words.words(), same = words.same;
  Scores of_tokens;
  const Factors<Alike<double>> of_words = at_keys(factors, inputs, words.words(), scores);
  const Factors<Alike<double>> single = at_keys(factors, inputs, words.different, of_tokens);
  const double uneven = unevenness(words, of_words.mix.second);
  const double apart = 1 / (1 + std::max(0.0, uneven));
  const double one = words.different / words.tokens;
  const double own_tau2 = inputs.score_scale * inputs.q.second * inputs.apart_k.second;
  const RowShares shares =
      row_shares(word_frequencies(words.of_keys, words.triple, words.different, words.tokens),
                 words, inputs.sum ? inputs.sum->covariance.second : own_tau2);
  const auto scaled_to = [&](double share, double second, double cross) {
    return [=](const Alike<double>& x) {
      // Pairs of equal words are as one token with itself.
      const double own = share * second * x.second;
      return Alike<double>{0, own, same * own + (1 - same) * cross * x.cross, 0};
    };
  };
  scores.overlap_truncation += std::fabs(uneven);
  scores.truncation += std::fabs(uneven) / 2;
  const auto by_token = scaled_to(shares.token_mix, one, one),
             by_token_slope = scaled_to(shares.token_slope, one, one);
  const Factors<Alike<double>> found =
      by_kind(of_words, single, scaled_to(shares.mix, together, together * apart),
              scaled_to(shares.mix, together, together),
              scaled_to(shares.slope, together, together), by_token, by_token_slope);
  if (inputs.layer.dropout > 0) masks = word_masks(inputs, found, single, by_token, by_token_slope);
  return found;
}

Factors<PerPosition> word_factors(const FactorsOf<PerPosition>& factors,
                                  const ScoreInputs<double, PerPosition>& inputs, double same,
                                  const Signal<PerPosition>& source, Scores& scores,
                                  Seldom<WordMasks<PerPosition>>& masks) {
  const RowWords rows(inputs, source);
  ScoreInputs<double, PerPosition> seen = inputs;
  seen.row_keys = &rows.words;
  const Factors<PerPosition> of_words = factors(seen, scores);
  seen.row_keys = &rows.different;
  Scores of_tokens;
  const Factors<PerPosition> single = factors(seen, of_tokens);
  const Eigen::ArrayXd uneven = rows.unevenness_of(of_words.mix.second);
  const Eigen::ArrayXd apart = 1 / (1 + uneven.max(0.0));
  const auto together = [](const WordCounts& words) { return words.squares * words.words(); };
  const auto one = [](const WordCounts& words) { return words.different / words.tokens; };
  const auto mixed = [&](const PerPosition& x) {
    return rows.scaled_by(x, same, together, &RowShares::mix, &apart);
  };
  const double most = uneven.abs().maxCoeff();
  scores.overlap_truncation += most;
  scores.truncation += most / 2;
  if (inputs.counts.causal)
    scores.equal_rows = equal_rows(rows.scaled_by(of_words.mix, 1, together, &RowShares::mix),
                                   rows.scaled_by(of_words.mix, 0, together, &RowShares::mix));
  const auto scaled_to = [&](const auto& times, double RowShares::*share) {
    return [&rows, &times, same, share](const PerPosition& x) {
      return rows.scaled_by(x, same, times, share);
    };
  };
  const PerPosition mix = mixed(of_words.mix);
  const auto slopes_to = [&](const auto& times, double RowShares::*share) {
    return [&rows, &times, &mix, same, share](const PerPosition& x) {
      return rows.slopes(x, same, times, share, mix);
    };
  };
  const auto by_token = scaled_to(one, &RowShares::token_mix);
  const auto by_token_slope = slopes_to(one, &RowShares::token_slope);
  const Factors<PerPosition> found =
      by_kind(of_words, single, mixed, scaled_to(together, &RowShares::mix),
              slopes_to(together, &RowShares::slope), by_token, by_token_slope);
  if (inputs.layer.dropout > 0) masks = word_masks(inputs, found, single, by_token, by_token_slope);
  return found;
}

}  // namespace scalecalc::moments
