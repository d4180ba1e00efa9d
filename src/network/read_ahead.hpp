#pragma once

#include <cstddef>
#include <iterator>
#include <variant>
#include <vector>

#include "base/prefetch.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc {

/// What every kind of layer has: the first members, and at the end which kind it is.
inline void prefetch_ends(const Layer& layer) {
  constexpr std::size_t first = 192;
  base::prefetch(&layer, first);
  base::prefetch(reinterpret_cast<const char*>(&layer + 1) - 1, 1);
}

/// The body of a residual, and nothing of others.
inline const std::vector<Layer>* body_of(const Layer& layer) {
  const auto* const residual = std::get_if<Residual>(&layer.op);
  return residual != nullptr ? &residual->body : nullptr;
}

/// While `layer` of a list of layers is being read: asks for what the next ones are, then for what
/// is in them, and at last for the attention of the next, which is far larger than all else.
template <class Iterator>
void read_ahead(Iterator layer, Iterator end) {
  if (std::distance(layer, end) < 4) return;
  if (const std::vector<Layer>* body = body_of(*++layer))
    for (const Layer& inside : *body)
      if (std::holds_alternative<Attention>(inside.op)) base::prefetch(&inside, sizeof(Attention));
  if (const std::vector<Layer>* body = body_of(*++layer))
    for (const Layer& inside : *body) prefetch_ends(inside);
  prefetch_ends(*++layer);
}

}  // namespace scalecalc
