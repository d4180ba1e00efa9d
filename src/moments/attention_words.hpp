#pragma once

#include <functional>

#include "moments/attention_scores.hpp"
#include "moments/key_weights.hpp"
#include "moments/seldom.hpp"
#include "moments/words.hpp"

/// Attention to tokens of which some are the same word: equal keys share a score, so softmax shares
/// itself out among words, a word that stands n times with n e^s. With S2 = E sum (n/T)^2 and S3 =
/// E sum (n/T)^3 over the words of a sequence, and f(K) an average over K keys of their own,
///   E sum P_w^2 = S2 K f(K), K = S2/S3:
/// a word's own weight is in the sum that it is divided by, by S3/S2 on average. Of two queries it
/// is in both, which takes 2 (K f(K) - 1) (S3/S2 - S2) of E sum P_w P'_w where words are not
/// equally frequent. Of single tokens, sum p_s^2 = sum P_w^2/n_w counts rare words as much as
/// frequent ones: E sum p_s^2 = K f(K)/T at the number of different words. Equal queries have equal
/// rows. What words of unlike frequency make of one row beyond that is word_averages().
namespace scalecalc::moments {

struct WordCounts {
  double same = 0;       ///< chance that two queries are the same word
  double squares = 1;    ///< S2
  double cubes = 1;      ///< S3
  double different = 1;  ///< words of a sequence
  double tokens = 1;
  double of_keys = 0, triple = 0;  ///< chances that two and three keys are one word
  double words() const;            ///< K
};
WordCounts word_counts(double same, double triple, double different, double tokens);

/// Whether a layer's keys, made of `source`, come in equal words: a mask gives equal words other
/// keys, or other weights, as a window and biases do, and rotation other scores.
template <class X>
bool shares_scores(const Attention& layer, const Signal<X>& source, bool adds) {
  return has_words(source) && source.tokens > 1 && layer.rotary.width == 0 &&
         !weighs_keys(layer, source.tokens) && !adds;
}

/// Attention dropout beside equal words: masks are of single tokens and of single rows, so that of
/// one row m_v/(1 - rate) - m_v goes with averages of tokens, D_v with those of words
/// (docs/theory/attention.md#masked-words).
template <class X>
struct WordMasks {
  X mix;                              ///< E sum p^2 of single tokens
  X added;                            ///< to the mix: of each row, m_v rate/(1 - rate) times that
  X query, query_weight, key_weight;  ///< of one row averages of both by their shares of apart_v
};

/// Of as many equally frequent words as make `different` of `tokens`, how many are among `fewer`.
double different_among(double different, double tokens, double fewer);

/// Of keys that know nothing of each other, as many as the source has tokens.
template <class X>
using FactorsOf = std::function<Factors<X>(const ScoreInputs<double, X>&, Scores&)>;
/// `inputs` are of different words; `masks` are made where there is attention dropout.
Factors<Alike<double>> word_factors(const FactorsOf<Alike<double>>& factors,
                                    const ScoreInputs<double, Alike<double>>& inputs,
                                    const WordCounts& words, Scores& scores,
                                    Seldom<WordMasks<Alike<double>>>& masks);
/// Row by row: under a mask a row has the words that its keys are. `same`: of two queries; `source`
/// has all words.
Factors<PerPosition> word_factors(const FactorsOf<PerPosition>& factors,
                                  const ScoreInputs<double, PerPosition>& inputs, double same,
                                  const Signal<PerPosition>& source, Scores& scores,
                                  Seldom<WordMasks<PerPosition>>& masks);

}  // namespace scalecalc::moments
