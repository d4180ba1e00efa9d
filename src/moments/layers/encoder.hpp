#pragma once

#include <optional>
#include <utility>

#include "moments/backward_pass.hpp"
#include "moments/forward_pass.hpp"
#include "scalecalc/error.hpp"

/// Layers that make the memory (docs/theory/attention.md#memory): they see the memory's input, and
/// on the way back what all cross-attention has given.
namespace scalecalc::moments {

template <class C, class X>
struct Kept<Encoder, C, X> {
  std::size_t input = no_site;
};

template <class C, class X>
Signal<X> forward_step(ForwardPass<C, X>& pass, const Encoder& layer, Signal<X> x) {
  if (pass.memory() == nullptr)
    throw Error(ErrorKind::input, "the network has no memory for an encoder to read", layer.path,
                "give memory_sequence");
  Signal<X> memory = *pass.memory();
  static const char* const suffix = ".input";
  Kept<Encoder, C, X> kept;
  pass.calculus().enter(layer.path);
  if (pass.network().input == InputKind::gaussian || pass.network().memory_features > 0)
    kept.input = pass.site(layer.path, "input", memory, suffix);
  const auto scores = std::exchange(pass.scores(), std::nullopt);
  pass.set_memory(pass.run(layer.layers, std::move(memory)));
  pass.scores() = scores;
  pass.template keep<Encoder>(std::move(kept));
  return x;
}

template <class C, class X>
Gradient<X> backward_step(BackwardPass<C, X>& pass, const Encoder& layer, Gradient<X> g) {
  const auto& kept = pass.template take<Encoder>();
  if (!pass.memory())
    throw Error(ErrorKind::input, "nothing attends to what the encoder makes", layer.path,
                "give the decoder cross-attention");
  const auto scores = std::exchange(pass.scores(), std::nullopt);
  pass.note(kept.input, pass.run(layer.layers, std::move(pass.memory()->sum)));
  pass.memory().reset();
  pass.scores() = scores;
  return g;
}

}  // namespace scalecalc::moments
