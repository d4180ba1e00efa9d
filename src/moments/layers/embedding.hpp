#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "moments/forward_pass.hpp"
#include "moments/linear_map.hpp"
#include "moments/parameter_gradients.hpp"
#include "moments/word_chances.hpp"

/// A table of words, and one of positions: second = both variances; two tokens share what they have
/// in common (docs/theory/layers.md#embedding).
namespace scalecalc::moments {

/// Frequencies go as k^-zipf, or are as many equal ones as make the given chance of two.
inline WordChances chances_of(const Network& network, const Embedding& layer, double tokens) {
  const double same = network.token_collision;
  if (same > 0) return {same, same * same, (1 - std::pow(1 - same, tokens)) / same};
  return word_chances(layer.vocab, network.zipf, tokens);
}

/// kappa = sum of f^2 over words of frequency f ~ k^-zipf: the chance that two are the same.
inline double same_word(std::int64_t vocab, double zipf) {
  return word_chances(vocab, zipf, 1).same;
}

/// The chance that two tokens are the same word.
inline double token_collision(const Network& network, const Embedding& layer) {
  return chances_of(network, layer, 1).same;
}

inline double word_second(const Embedding& layer) {
  return layer.multiplier * layer.multiplier * layer.std * layer.std;
}

/// Two sequences have the same position at one pair of tokens in T.
template <class C>
Alike<typename C::Number> embedded(const C& calculus, const Embedding& layer, double collision,
                                   const typename C::Number& tokens) {
  using N = typename C::Number;
  const N word = calculus.real(word_second(layer));
  const N position = calculus.real(layer.position_std * layer.position_std);
  const N segment = calculus.real(layer.segments > 0 ? layer.std * layer.std : 0.0);
  const N same = word * calculus.real(collision) + segment;
  return {N(0), word + position + segment, same, same + position / tokens};
}

/// The overlap of two tokens is that of one word with itself, or none: its deviation over pairs.
inline double word_overlap(const Embedding& layer, double collision) {
  return word_second(layer) * std::sqrt(collision * (1 - collision));
}

/// Mean over rows: (T g + T (T-1) kappa k)/V in one sequence, and B times that with the pairs of
/// different sequences beside. `same`: k at equal words less k at any.
template <class X, class N>
N row_gradient(const X& gradient, const N& same, const N& kappa, const N& vocab, const N& tokens,
               const N& batch) {
  const Alike<N> shared{N(0), N(1), kappa, kappa};
  Alike<N> g = average(gradient);
  g.cross = g.cross + same;
  g.between = g.between + same;
  return token_sum(shared, g, tokens, batch) / vocab;
}

/// One position: B g + B (B-1) k_b. `same`: k_b at one position less k_b at any two, where
/// the state does not have both.
template <class X, class N>
N position_gradient(const X& gradient, const N& same, const N& batch) {
  const Alike<N> g = same_positions(gradient);
  const N between = has_own_positions(gradient) ? g.between : N(g.between + same);
  return batch * g.second + batch * (batch - 1) * between;
}

template <class C, class X>
struct Kept<Embedding, C, X> {
  Places at;
  double collision = 0;  ///< chance that two tokens are the same word
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Embedding& layer, Signal<X> x) {
  C& calculus = pass.calculus();
  const Network& network = pass.network();
  calculus.enter(layer.path);
  const typename C::Number tokens = calculus.size(x.tokens, "tokens");
  const WordChances words = chances_of(network, layer, static_cast<double>(x.tokens));
  const double collision = words.same;
  x.x = uniform(x.x, embedded(calculus, layer, collision, tokens));
  x.x = with_own_positions(x.x, calculus.real(layer.position_std * layer.position_std));
  x = input_signal(calculus, std::move(x.x), layer.width, x.tokens, pass.counts(x));
  if constexpr (C::next_orders)
    x.overlap.coherent = std::hypot(x.overlap.coherent, word_overlap(layer, collision));
  if (is_tied(network)) {
    const auto own = calculus.real(layer.multiplier * layer.std * layer.std);
    x.own = uniform(x.x, {own, own, own, own});
  }
  x.repeats = x.collision = collision;
  x.triples = words.triple;
  x.same_words = layer.position_std == 0;
  x.different = words.different;
  const std::size_t at = pass.site(layer.path, "embedding", x);
  const std::size_t index =
      pass.parameter(layer.path, ".weight", layer.vocab, layer.width, layer.std * layer.std);
  if (layer.position_std > 0)
    pass.parameter(layer.path, ".position", x.tokens, layer.width,
                   layer.position_std * layer.position_std);
  if (layer.segments > 0)
    pass.parameter(layer.path, ".segment", layer.segments, layer.width, layer.std * layer.std);
  pass.template keep<Embedding>({{at, index, x.tokens}, collision});
  return x;
}

/// What a gradient has along its token's own x.
template <class C, class X>
double own_aligned(const C& calculus, const Gradient<X>& g) {
  return calculus.value(g.aligned) * own_share(g.along_mean);
}

/// Below a tied head each other word has this of what a gradient has along its token's own, where
/// the logits' gradients add up to 0: -1/(V - 1).
inline double of_other_words(const OwnWord& own, double collision) {
  return own.word != 0 && collision < 1 ? (own.same - collision) / (1 - collision) : 0;
}

/// k at equal words less k at any two, of which `collision` are equal: of a gradient along x, what
/// the word has of both; of any other that follows overlaps, dk/dr of the word's part of them.
template <class C, class X>
typename C::Number equal_words(const C& calculus, const Embedding& layer, const Gradient<X>& g,
                               double collision) {
  if constexpr (!C::next_orders) return typename C::Number(0);
  if (g.equal_words == 0) {
    const double beside = g.own.word * (1 - of_other_words(g.own, collision));
    const double own = layer.std * (beside + layer.multiplier * own_aligned(calculus, g));
    const double word = layer.multiplier * layer.std;
    return calculus.real((1 - collision) * std::max(own * own, g.slopes.within.own * word * word));
  }
  const Alike<double> x = values_of(calculus, g.x);
  return calculus.real(std::max(0.0, g.equal_words * x.second - x.cross));
}

/// k_b at one position less k_b at any two, of which one in T are: of a gradient along x, or one
/// that follows overlaps, what the position's vector has of both. Behind a tied head it is that of
/// two words, along x and by chance, of which a norm has left none along x.
template <class C, class X>
typename C::Number equal_positions(const C& calculus, double position_std, const Gradient<X>& g,
                                   const typename C::Number& tokens) {
  using N = typename C::Number;
  if constexpr (!C::next_orders) return N(0);
  const double own = own_aligned(calculus, g);
  double rise = std::max(own * own, g.slopes.between.own);
  if (g.own.word != 0)
    rise = own * own +
           std::max(0.0, g.slopes.between.own - g.own.of_words - (g.own.normed ? 0 : own * own));
  return calculus.real(rise * position_std * position_std) * N(1 - N(1) / tokens);
}

/// Of a table that is the head too, twice the product of both gradients: over pairs of tokens, that
/// of one's logit at the other's word with h_t.g_u, where h goes with x. A norm has left nothing of
/// that of a token with itself (docs/theory/layers.md#own-word).
template <class C, class X>
typename C::Number shared_rows(const BackwardPass<C, X>& pass, const Embedding& layer,
                               const Gradient<X>& g, const Kept<Embedding, C, X>& kept) {
  const C& calculus = pass.calculus();
  if constexpr (!C::next_orders) return typename C::Number(0);
  const Counts over = pass.counts(kept.at.tokens);
  const double tokens = over.tokens, batch = over.batch, kappa = kept.collision;
  const double word = word_second(layer), place = layer.position_std * layer.position_std,
               segment = layer.segments > 0 ? layer.std * layer.std : 0;
  const double others = of_other_words(g.own, kappa);
  const double along = word > 0 ? layer.multiplier * own_aligned(calculus, g) / word : 0;
  const auto of_pairs = [&](double shared) {
    return kappa * (g.own.word + along * (word + shared)) +
           (1 - kappa) * others * (g.own.word * others + along * shared);
  };
  const double self = g.own.normed ? 0 : g.own.word + along * (word + place + segment);
  const double within = (tokens - 1) * of_pairs(segment),
               between = (batch - 1) * (tokens * of_pairs(segment) + of_pairs(segment + place) -
                                        of_pairs(segment));
  return calculus.real(2 * layer.multiplier * g.own.seen * over.samples() *
                       (self + within + between) / static_cast<double>(layer.vocab));
}

/// Two parts of one gradient, and twice their product, of which `unknown` is not known.
template <class C>
void add_part(const C& calculus, const ParameterRecord<typename C::Number>& part,
              const typename C::Number& both, bool unknown,
              ParameterRecord<typename C::Number>& record) {
  if constexpr (C::next_orders) {
    const double left = calculus.value(part.gradient), right = calculus.value(record.gradient);
    const double p = left + right > 0 ? left / (left + right) : 0, q = 1 - p;
    record.spread = p * p * part.spread + q * q * record.spread;
    record.error = p * part.error + q * record.error;
    record.truncation = p * part.truncation + q * record.truncation;
    if (unknown) record.truncation += 2 * std::sqrt(p * q);
  }
  record.gradient = calculus.positive(part.gradient + record.gradient + both);
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Embedding& layer, Gradient<X> g) {
  using N = typename C::Number;
  const C& calculus = pass.calculus();
  const auto& kept = pass.template take<Embedding>();
  pass.note(kept.at.site, g);
  const N kappa = calculus.real(kept.collision);
  const N vocab = calculus.size(layer.vocab, "vocab");
  const N tokens = pass.tokens(kept.at.tokens);
  const N row = row_gradient(g.x, equal_words(calculus, layer, g, kept.collision), kappa, vocab,
                             tokens, pass.batch());
  std::size_t at = kept.at.parameter;
  const ParameterRecord<N> of_head = pass.parameter(at);
  fill(pass, at, calculus.real(layer.multiplier * layer.multiplier) * row, g, {});
  if (&layer == std::get_if<Embedding>(&pass.network().layers.front().op) &&
      is_tied(pass.network()))
    add_part(calculus, of_head, shared_rows(pass, layer, g, kept), pass.network().loss == Loss::mse,
             pass.parameter(at));
  if (layer.position_std > 0)
    fill(pass, ++at,
         position_gradient(g.x, equal_positions(calculus, layer.position_std, g, tokens),
                           pass.batch()),
         g, {});
  // The first row has the sum over all tokens.
  if (layer.segments > 0)
    fill(pass, ++at, bias_of(pass, g.x, kept.at.tokens) / calculus.size(layer.segments, "segments"),
         g, {});
  return g;
}

}  // namespace scalecalc::moments
