#pragma once

#include <vector>

#include "moments/fluctuations.hpp"
#include "moments/state.hpp"

/// Branches that whole samples lose (docs/theory/layers.md#drop-path). b is 0 with chance p, else
/// 1/(1 - p), the same for all of a sample.
namespace scalecalc::moments {

/// A class of samples, by the branches that they have lost: its chance, and its |x|^2 and x_t.x_u
/// over the averages of all.
struct SampleClass {
  double chance = 1, second = 1, cross = 1;
};
using SampleClasses = std::vector<SampleClass>;

/// The classes of samples, and the branch that a sum y = x + b F has just added: its chance to be
/// lost, the classes that have kept it, and its share of E y_t y_u of two samples.
struct DroppedPaths {
  SampleClasses all;
  double rate = 0;  ///< 0: the last branch is lost by none
  SampleClasses kept;
  double between = 0;
  bool of_stream = false;  ///< a sum's own; of a branch behind its norm these are other sizes

  double variance() const;    ///< of |x|^2
  double covariance() const;  ///< of |x|^2 and x_t.x_u
};

/// At a branch's end: all that is left of it is in one class.
DroppedPaths lost_branch(double rate);
/// Of the sum, of which the branch has these shares of E y^2, E y_t y_u and E y_t y_v. Past 12
/// classes the nearest are joined. `stream`, `branch`: null for samples that are alike.
DroppedPaths sum_of_paths(const DroppedPaths* stream, const DroppedPaths* branch, double second,
                          double cross, double between);

/// What a norm of each token makes of these, beside averages in the place of |y|^2.
struct DroppedNorm {
  double inverse = 1;           ///< E 1/|y|^2: of gradients of one sample
  double inverse_between = 1;   ///< (E 1/|y|)^2: of two
  double within = 1;            ///< E (y_t.y_u/|y|^2), in a sample
  double between = 1;           ///< of two samples
  double overlap_variance = 0;  ///< Var of y_t.y_u/|y|^2 over (E y_t y_u/E y^2)^2
  DroppedPaths classes;         ///< behind the norm
};
DroppedNorm norm_of_paths(const DroppedPaths& paths);

/// E |y|^-2 of gradients that fall as |y|^(-2 power) already, over E |y|^-2.
double inverse_below(const DroppedPaths& paths, double power);
/// Of gradients that fall as |y|^(-2 power): E b^2 g^2 over E b^2 E g^2.
double kept_gradient(const DroppedPaths& paths, double power);
/// Of sums over a sample's tokens, y = sum_s p_s x_s: `apart`, `shared`: the parts of E y^2 that go
/// with E x^2 - E x_t x_u and with E x_t x_u; `cosine`: E x_t x_u/E x^2.
DroppedPaths mixed_paths(const DroppedPaths& paths, double apart, double shared, double cosine);

/// Of a sample's size over draws: `spread` of F to that of b F; D moves with the size.
NormVariance through_drop_path(const NormVariance& spread, double rate, const Counts& counts);

}  // namespace scalecalc::moments
