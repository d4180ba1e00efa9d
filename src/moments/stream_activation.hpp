#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

#include "moments/activation_moments.hpp"
#include "moments/stream_law.hpp"

/// Activations of a stream behind an activation (docs/theory/layers.md#stream-law).
namespace scalecalc::moments {

/// Of `function` of a signal with a law, what its values have beside those of a Gaussian of the
/// same moments; nothing of a signal without.
template <class C, class X>
Alike<double> excess_of_law(C& calculus, const std::string& function, const Signal<X>& in) {
  if (!in.law) return {};
  const Activation& activation = calculus.function(function)->activation();
  return stream_excess(activation, stream_cells(activation, *in.law), values_of(calculus, in.x))
      .values;
}

/// Of features that dropout has cut up, of this variance and mean 0. An atom at 0 stands on an edge
/// of two cells, where phi may have no kink.
inline std::shared_ptr<const StreamCells> cells_of_kinds(const Activation& phi,
                                                         const Mixture& kinds, double variance) {
  if (!phi.breaks().empty() || !(variance > 0)) return nullptr;
  return std::make_shared<const StreamCells>(stream_cells(phi, law_of_kinds(kinds, variance)));
}

/// Of a stream that an activation and a branch have made, what it has beside a Gaussian of the same
/// moments (docs/theory/layers.md#stream-law). What of the fourth moment is not known of it: how
/// two samples go together, what sizes of tokens vary by about the law's, and where positions
/// differ, of which the law is the average's, all.
template <class C, class X>
double add_stream_law(C& calculus, const typename C::Function& phi, const Signal<X>& in,
                      Wanted wanted, ActivationRecord<X>& record, X& y) {
  const Activation& activation = phi->activation();
  record.cells = std::make_shared<const StreamCells>(stream_cells(activation, *in.law));
  const StreamExcess more = stream_excess(activation, *record.cells, values_of(calculus, in.x));
  y = with_bounded_cross(sum(y, uniform(y, more.values)));
  if (wanted.slopes) record.slopes = sum(record.slopes, uniform(record.slopes, more.slopes));
  if (!std::is_same_v<X, Alike<double>>) return 1;
  return std::min(1.0, more.correlation + in.spread.token_variance);
}

}  // namespace scalecalc::moments
