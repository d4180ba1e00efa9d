#pragma once

#include <Eigen/Core>
#include <array>
#include <memory>
#include <vector>

#include "moments/mixture.hpp"
#include "moments/state.hpp"
#include "scalecalc/activation.hpp"

/// A stream behind an activation, to which a branch adds a Gaussian part, is no Gaussian: the law
/// of a feature of it, and what a gradient that has passed the next activation knows of it
/// (docs/theory/layers.md#stream-law).
namespace scalecalc::moments {

/// Chances of a feature x in cells of equal width, one of whose edges is 0.
struct StreamLaw {
  double from = 0, step = 0;  ///< lower edge of the first cell, width of each
  double mean = 0, variance = 0;
  /// Of each cell; `middle` is the mean of x in it, about which x is even over `width`.
  Eigen::ArrayXd chance, middle, width;
  /// Two samples go together as normal scores of them do: orthonormal Hermite polynomials of the
  /// score of each cell, by rows.
  Eigen::ArrayXXd hermite;
};
StreamLaw gaussian_law(double mean, double variance);
/// Of features that dropout has cut up, of mean 0: normal ones of the variance of each kind, and an
/// atom at 0. Pairs as of normal scores that have their covariance, whatever masks they have.
StreamLaw law_of_kinds(const Mixture& kinds, double variance);

/// A law, and the averages over each of its cells of an activation phi of x.
struct StreamCells {
  StreamLaw law;
  Eigen::ArrayXd value, square, slope, slope_square;
  bool is_smooth = true;  ///< phi has no kink and no jump
};
StreamCells stream_cells(const Activation& phi, StreamLaw law);

/// E f(x_t) f(x_u) of samples whose covariance is E x_t x_u - (E x)^2 = `covariance`.
class StreamPairs {
 public:
  StreamPairs(const StreamLaw& law, double covariance);
  double operator()(const Eigen::ArrayXd& f) const;
  double correlation() const { return correlation_; }  ///< of the scores

 private:
  const StreamLaw& law_;
  double correlation_ = 0;
};

/// x' = a phi(x) + v, v independent of x, and Gaussian where it is wide.
struct StreamSum {
  /// With the chance `weight` v has this variance: the kinds of features of a dropout.
  struct Kind {
    double weight = 1, variance = 0;
  };
  std::shared_ptr<const StreamCells> from;
  std::shared_ptr<const StreamLaw> to;
  double factor = 1;              ///< a
  double mean = 0, variance = 0;  ///< of v
  std::vector<Kind> kinds;        ///< of v
};
/// v: its mean, its variance over all of its kinds, and whether it is normal given its kind.
struct StreamBranch {
  double mean = 0, variance = 0;
  bool is_gaussian = true;
  Mixture kinds{};
};
/// Of a v that is narrow beside a cell, a cell of x fills an even part of the cells of x'. Nothing
/// where v is 0, or wide and not Gaussian, or narrow behind a phi with kinks.
std::shared_ptr<const StreamSum> stream_sum(std::shared_ptr<const StreamCells> from, double factor,
                                            const StreamBranch& v);

/// What phi makes of a law beside what it makes of a Gaussian of the same moments `x`: of values,
/// E phi'^2, E phi'_t phi'_u, and E phi, E phi^2, E phi_t phi_u.
struct StreamExcess {
  Alike<double> values, slopes;
  double correlation = 0;  ///< the largest of two samples
};
StreamExcess stream_excess(const Activation& phi, const StreamCells& cells, const Alike<double>& x);

/// Of a gradient g, what it knows of the feature x that it is of: a part of E g^2 by x, and of E
/// g_t g_u sums of f(x_t) f(x_u); the rest knows nothing. `x` is a cell of `at`.
struct StreamGradient {
  struct Pair {
    Eigen::ArrayXd f;
    double within = 0, between = 0;
  };
  std::shared_ptr<const StreamCells> at;
  Eigen::ArrayXd second;
  std::vector<Pair> pairs;
};

/// phi' g of a gradient g of which `known` is known (or nothing), at samples x: `slopes` as
/// E phi'^2 and E phi'_t phi'_u are.
struct StreamPassed {
  StreamGradient known;
  Alike<double> x;        ///< E (phi' g)^2 and E of pairs
  Alike<double> product;  ///< E (x - E x)_t (x - E x)_u of it; `inputs`: of phi' alone
};
StreamPassed through_slopes(const std::shared_ptr<const StreamCells>& cells,
                            const StreamGradient* known, const Alike<double>& g,
                            const Alike<double>& slopes, const Alike<double>& inputs,
                            const Alike<double>& x);

/// Back through the sum: of a phi(x) what is known of x, and E v_t g_t v_u g_u of v with the pairs
/// `v` about its mean; `g`: all of the gradient.
struct StreamParts {
  StreamGradient stream;
  Alike<double> product;
};
StreamParts through_stream_sum(const StreamSum& sum, const StreamGradient& known,
                               const Alike<double>& g, const Alike<double>& v);

/// `factor` of a gradient.
void scale(StreamGradient& known, double square);

}  // namespace scalecalc::moments
