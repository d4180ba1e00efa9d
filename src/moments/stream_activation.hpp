#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "moments/activation_moments.hpp"
#include "moments/stream_law.hpp"
#include "moments/words.hpp"

/// A stream behind an activation, and activations of it (docs/theory/layers.md#stream-law).
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

/// The law of the sum of an activation and a branch that is Gaussian or narrow, on the average over
/// positions.
template <class C, class X>
std::shared_ptr<const StreamSum> law_of_sum(C& calculus, const Residual& layer, const Signal<X>& x,
                                            const Signal<X>& branch) {
  if constexpr (C::next_orders) {
    constexpr double rounding = 1e-9;
    if (has_words(x) || !x.flat || x.flat->gate || branch.flat) return nullptr;
    // Of one feature, a branch that whole samples lose is as one that dropout has cut up.
    const bool is_lost = branch.dropped && branch.dropped->rate > 0;
    const bool is_gaussian =
        (!branch.dropped || is_lost) && branch.kurtosis <= 3 * branch.mixture.square() + rounding;
    std::shared_ptr<const StreamCells> from = x.flat->cells;
    // Cells know the kinds of features, and the classes of samples, that went into the activation.
    if (!from && (!x.mixture.plain() || x.dropped)) return nullptr;
    const Alike<double>& u = x.flat->input;
    const double variance = u.second - u.mean * u.mean;
    if (!from) {
      if (!(variance > 0)) return nullptr;
      from = std::make_shared<const StreamCells>(stream_cells(
          calculus.function(x.flat->function)->activation(), gaussian_law(u.mean, variance)));
    }
    const Alike<double> f = values_of(calculus, branch.x);
    const double b = layer.branch;
    return stream_sum(std::move(from), layer.skip,
                      {b * f.mean, b * b * (f.second - f.mean * f.mean), is_gaussian,
                       is_lost ? dropped(branch.mixture, branch.dropped->rate) : branch.mixture});
  } else {
    return nullptr;
  }
}

}  // namespace scalecalc::moments
