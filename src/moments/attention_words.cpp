#include "moments/attention_words.hpp"

#include <algorithm>
#include <cmath>

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
Factors<State> at_keys(const FactorsOf& factors, const ScoreInputs<double, State>& inputs,
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

}  // namespace

/// Two tokens are one word or two, and the inverse of S2 keys is exact.
double WordCounts::words() const {
  const double free = 1 - 2 / std::max(tokens, 2.0);
  return free * squares / cubes + (1 - free) / squares;
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

Factors<State> word_factors(const FactorsOf& factors, const ScoreInputs<double, State>& inputs,
                            const WordCounts& words, Scores& scores) {
  const double keys = words.words(), together = words.squares * keys;
  Scores of_tokens;
  const Factors<State> of_words = at_keys(factors, inputs, keys, scores);
  const Factors<State> single = at_keys(factors, inputs, words.different, of_tokens);
  const double gathered = std::max(0.0, keys * of_words.mix.second - 1);
  const double uneven = 2 * gathered * (words.cubes / words.squares - words.squares);
  const double apart = 1 / (1 + std::max(0.0, uneven));
  const double one = words.different / words.tokens;
  const double same = words.same;
  const auto scaled_to = [&](double second, double cross) {
    // Pairs of equal words are as one token with itself.
    return [=](const State& x) {
      return State{0, second * x.second, same * second * x.second + (1 - same) * cross * x.cross,
                   0};
    };
  };
  const auto by_word = scaled_to(together, together), by_token = scaled_to(one, one);
  const auto mixed = scaled_to(together, together * apart);
  scores.mix_truncation += std::fabs(uneven);
  scores.truncation += 1.5 * std::fabs(uneven);
  return {mixed(of_words.mix),
          by_token(single.value),
          by_word(of_words.query),
          by_token(single.key),
          by_word(of_words.query_weight),
          by_word(of_words.key_weight),
          by_word(of_words.value_weight),
          {mixed(of_words.feedback.mix), by_token(single.feedback.values),
           by_word(of_words.feedback.query), by_token(single.feedback.key),
           by_token(single.feedback.score)},
          by_token(single.slope),
          by_token(single.score)};
}

}  // namespace scalecalc::moments
