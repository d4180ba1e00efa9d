#include "moments/attention_words.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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
           f(a.feedback.score, b.feedback.score)},
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

/// f of each factor, by its kind: those of the mix, of words, and of single tokens.
template <class State, class Mixed, class Word, class Token>
Factors<State> by_kind(const Factors<State>& words, const Factors<State>& tokens,
                       const Mixed& mixed, const Word& by_word, const Token& by_token) {
  return {
      mixed(words.mix),
      by_token(tokens.value),
      by_word(words.query),
      by_token(tokens.key),
      by_word(words.query_weight),
      by_word(words.key_weight),
      by_word(words.value_weight),
      {mixed(words.feedback.mix), by_token(tokens.feedback.values), by_word(words.feedback.query),
       by_token(tokens.feedback.key), by_token(tokens.feedback.score)},
      by_token(tokens.slope),
      by_token(tokens.score)};
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
  }

  /// `one`: times row t; of two rows that of the one with more keys. Of the share `same` of pairs,
  /// which ask alike, rows are equal but for the keys that one of them sees alone.
  template <class One>
  PerPosition scaled_by(const PerPosition& x, double same, const One& one,
                        const Eigen::ArrayXd* apart = nullptr) const {
    PerPosition out = without_means(x);
    const Eigen::Index size = x.second.size();
    for (Eigen::Index t = 0; t < size; ++t) out.second[t] = one(rows_[as(t)]) * x.second[t];
    for (Eigen::Index t = 0; t < size; ++t)
      for (Eigen::Index u = 0; u <= t; ++u) {
        const double two = one(rows_[as(t)]) * (apart ? (*apart)[t] : 1) * x.cross(t, u);
        out.cross(t, u) = out.cross(u, t) = same * out.second[t] + (1 - same) * two;
      }
    return out;
  }
  Eigen::ArrayXd unevenness_of(const Eigen::ArrayXd& mix) const {
    Eigen::ArrayXd made(mix.size());
    for (Eigen::Index t = 0; t < mix.size(); ++t) made[t] = unevenness(rows_[as(t)], mix[t]);
    return made;
  }

  std::vector<double> words, different;

 private:
  static std::size_t as(Eigen::Index t) { return static_cast<std::size_t>(t); }
  std::vector<WordCounts> rows_;
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
  counts.same = same;
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
                                    const WordCounts& words, Scores& scores) {
  const double together = words.squares * words.words(), same = words.same;
  Scores of_tokens;
  const Factors<Alike<double>> of_words = at_keys(factors, inputs, words.words(), scores);
  const Factors<Alike<double>> single = at_keys(factors, inputs, words.different, of_tokens);
  const double uneven = unevenness(words, of_words.mix.second);
  const double apart = 1 / (1 + std::max(0.0, uneven));
  const double one = words.different / words.tokens;
  const auto scaled_to = [&](double second, double cross) {
    return [=](const Alike<double>& x) {
      // Pairs of equal words are as one token with itself.
      return Alike<double>{0, second * x.second,
                           same * second * x.second + (1 - same) * cross * x.cross, 0};
    };
  };
  scores.overlap_truncation += std::fabs(uneven);
  scores.truncation += std::fabs(uneven) / 2;
  return by_kind(of_words, single, scaled_to(together, together * apart),
                 scaled_to(together, together), scaled_to(one, one));
}

Factors<PerPosition> word_factors(const FactorsOf<PerPosition>& factors,
                                  const ScoreInputs<double, PerPosition>& inputs, double same,
                                  const Signal<PerPosition>& source, Scores& scores) {
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
    return rows.scaled_by(x, same, together, &apart);
  };
  const double most = uneven.abs().maxCoeff();
  scores.overlap_truncation += most;
  scores.truncation += most / 2;
  if (inputs.counts.causal)
    scores.equal_rows = equal_rows(rows.scaled_by(of_words.mix, 1, together),
                                   rows.scaled_by(of_words.mix, 0, together));
  return by_kind(
      of_words, single, mixed,
      [&](const PerPosition& x) { return rows.scaled_by(x, same, together); },
      [&](const PerPosition& x) { return rows.scaled_by(x, same, one); });
}

}  // namespace scalecalc::moments
