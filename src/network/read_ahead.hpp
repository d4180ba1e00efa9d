#pragma once

#include <iterator>
#include <variant>

#include "base/prefetch.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc {

/// While `layer` of a list of layers is being read: asks for the one after the next, and for the
/// body of the next. Of a short list all has been asked for by then.
template <class Iterator>
void read_ahead(Iterator layer, Iterator end) {
  if (std::distance(layer, end) < 3) return;
  const Layer& next = *++layer;
  base::prefetch(&*++layer, sizeof(Layer));
  const auto* const residual = std::get_if<Residual>(&next.op);
  if (residual != nullptr)
    base::prefetch(residual->body.data(), residual->body.size() * sizeof(Layer));
}

}  // namespace scalecalc
