#pragma once

#include <memory>

#include "moments/activation_moments.hpp"
#include "moments/stream_law.hpp"

/// Activations of a stream behind an activation (docs/theory/layers.md#stream-law).
namespace scalecalc::moments {

/// Of a stream that an activation and a branch have made, what it has beside a Gaussian of the same
/// moments (docs/theory/layers.md#stream-law); how much two samples go together.
template <class C, class X>
double add_stream_law(C& calculus, const typename C::Function& phi, const Signal<X>& in,
                      Wanted wanted, ActivationRecord<X>& record, X& y) {
  const Activation& activation = phi->activation();
  record.cells = std::make_shared<const StreamCells>(stream_cells(activation, *in.law));
  const StreamExcess more = stream_excess(activation, *record.cells, values_of(calculus, in.x));
  y = with_bounded_cross(sum(y, uniform(y, more.values)));
  if (wanted.slopes) record.slopes = sum(record.slopes, uniform(record.slopes, more.slopes));
  return more.correlation;
}

}  // namespace scalecalc::moments
