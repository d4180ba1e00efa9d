#pragma once

#include "moments/head.hpp"
#include "moments/layers.hpp"
#include "moments/softcap.hpp"

/// Network -> the records of every site and parameter, for any calculus and state.
namespace scalecalc::moments {

template <class C, class X>
struct Propagation {
  Ledger<C, X> ledger;
  typename C::Number loss{};
};

/// `state` makes tokens that are alike into X, at so many tokens.
template <class X, class C, class State>
Propagation<C, X> propagate_through(C& calculus, const Network& network, bool backward,
                                    const State& state) {
  using N = typename C::Number;
  const Counts counts{static_cast<double>(network.sequence), static_cast<double>(network.batch)};
  const auto alike = [&](double second, double cross) {
    return Alike<N>{N(0), calculus.real(second), calculus.real(cross), N(0)};
  };
  std::optional<Signal<X>> memory;
  if (network.memory_sequence > 0)
    memory = input_signal(
        calculus,
        state(alike(network.memory_second, network.memory_cross), network.memory_sequence),
        network.memory_features > 0 ? network.memory_features : network.features,
        network.memory_sequence, counts);
  Signal<X> x = input_signal(
      calculus, state(alike(network.input_second, network.input_cross), network.sequence),
      network.features, network.sequence, counts);

  Propagation<C, X> made;
  ForwardPass<C, X> forward(calculus, network, backward, memory, made.ledger);
  static const std::string input = "input";
  calculus.enter(input);
  std::size_t input_site = no_site;
  if (network.input == InputKind::gaussian) input_site = forward.site(input, "input", x);
  const Signal<X> logits = forward.run(network.layers, std::move(x));

  const N samples = calculus.size(logits.tokens, "tokens") * calculus.size(network.batch, "batch");
  calculus.enter(*made.ledger.sites.back().path);
  std::optional<CappedLogits<X>> capped;
  if (network.logit_softcap != 0) capped = cap_logits(calculus, network, logits);
  std::optional<double> own_variance;
  if (capped && is_tied(network)) own_variance = capped->own_variance();
  auto loss =
      loss_gradient(calculus, network, capped ? capped->logits : logits, samples, own_variance);
  if (capped) {
    const double weight = network.reduction == Reduction::mean
                              ? 1 / static_cast<double>(logits.tokens * network.batch)
                              : 1;
    through_cap(calculus, network, logits, *capped, weight, loss);
  }
  made.loss = loss.loss;
  if (!backward) return made;
  BackwardPass<C, X> back(calculus, network, made.ledger);
  Gradient<X> last{loss.logits, {}, {}, loss.truncation, {}};
  if constexpr (C::next_orders) {
    const RelativeError not_known = error_of_loss(calculus, network, values_of(calculus, logits.x),
                                                  {logits.truncation.second + logits.error.second,
                                                   logits.truncation.cross + logits.error.cross},
                                                  loss);
    last.truncation.second += not_known.second;
    last.truncation.cross += not_known.cross;
    if (has_words(logits))
      last.equal_words = loss.equal_words
                             ? *loss.equal_words
                             : equal_words_of(calculus, network, logits, average(last.x).second,
                                              static_cast<double>(logits.tokens * network.batch));
  }
  if constexpr (has_profiles<C, X>) {
    // Of the loss, what is along the logits is as they are.
    const double square = loss.hessian * loss.hessian, whole = square * logits.x.second;
    const Alike<double> along = scaled(
        without_mean(logits.x), whole > last.x.second ? last.x.second / logits.x.second : square);
    last.profile =
        profile_of_sum(logits.profile, along, nullptr, sum(last.x, scaled(along, -1.0)), last.x);
  }
  const Gradient<X> first = back.run(std::move(last), std::move(loss));
  back.note(input_site, first);
  made.ledger.tape = {};  // of deep networks it is as large as the trace
  return made;
}

}  // namespace scalecalc::moments
