#pragma once

#include <Eigen/Core>
#include <vector>

/// Features that dropout has cut up, a mixture of normals: given the masks of a token's features,
/// each is normal with a variance of its own. After k layers of dropout on a stream there are k + 1
/// such variances, by the last layer that dropped the feature. Weights make normal features of
/// them again. Plain double; all moments are relative to the state's own.
namespace scalecalc::moments {

/// Of a feature: with the chance `weight` its second moment is `variance` times E x^2, and the
/// product of two tokens' is cross(i, j) times E x_t x_u where they are of the kinds i and j. Empty
/// for normal features, which are all of one kind.
struct Mixture {
  Eigen::ArrayXd weight, variance;
  Eigen::ArrayXXd cross;

  bool plain() const { return weight.size() == 0; }
  double square() const;  ///< E variance^2: the kurtosis is 3 times that of normal features' 3
};

/// At a rate p: E x^2 becomes E x^2/(1 - p). The kinds keep their order; what is dropped is last.
Mixture dropped(const Mixture& x, double rate);

/// Of x and f, independent, in the shares x has of the sum's second and cross.
struct MixedSum {
  Mixture sum;
  std::vector<Eigen::Index>
      kind;                    ///< in the sum, of kind i of x and k of f, at i * (kinds of f) + k
  Eigen::ArrayXd left, right;  ///< weights of x and of f; empty where they are plain
};
MixedSum mixed_sum(const Mixture& x, const Mixture& f, double second_share, double cross_share);

/// Of features whose kinds have been multiplied: second moments and products `second` and `cross`,
/// the same for all before.
Mixture with_sizes(const Mixture& x, const Eigen::ArrayXd& second, const Eigen::ArrayXXd& cross);

/// What s2 = |x|^2/d, over independent features of such kinds, makes of a norm, relative to what
/// it is for normal ones.
struct MixtureNorm {
  double alive = 1;    ///< chance that not all features are 0
  double few = 0;      ///< that one or two are not: E 1/s2 does not exist, and is without them
  double forward = 1;  ///< E x_t x_u/(s_t s_u)
  /// Of each kind of a feature: E 1/s2, E x^2/(d s^4), and E 1/s.
  Eigen::ArrayXd inverse, along, root;
  double normal_inverse = 1, normal_along = 0, normal_root = 1;
  /// Relative variance of 1/s2 over tokens that all of the kinds make beside normal features, as a
  /// lognormal of these E 1/s2 and E 1/s has it, and the share of its logarithm that a norm has not
  /// taken before.
  double scatter = 0, share = 1;
  /// Variance of ln of a mean of 1/s2 over so many tokens, as masks make it since the last norm.
  double spread(double tokens) const;
  /// Of E 1/s2, of second order in `scatter`: what a norm took before is no more than its share of
  /// logarithms, as if sizes that were small before did not vary more since.
  double left_out() const;
};
/// `eps` relative to E x^2; `kurtosis` that of features of one kind, whose squares are taken for
/// gamma variables of that variance: exact for normal ones, of kurtosis 3. `share`: of the variance
/// of s2 that the kinds make, what there is; a norm since then has taken out what was before it.
MixtureNorm mixture_norm(const Mixture& x, double width, double eps, double kurtosis = 3,
                         double share = 1);

/// Of a gradient beside what it is on average, for each kind of x there: E g^2, and the root of
/// what two tokens' product is multiplied by. Empty where it knows nothing of them.
struct KindGradient {
  Eigen::ArrayXd second, root;
  bool plain() const { return second.size() == 0; }
};
/// What E g^2 and E g_t g_u are multiplied by once means are taken.
struct KindFactors {
  double second = 1, cross = 1;
};
/// Each divided by its mean over the kinds, which is returned.
KindFactors normalise(KindGradient& gradient, const Eigen::ArrayXd& weight);
/// Through the mask: of the kinds of `before`. The rule's g/(1 - p) and k take gradients of all
/// kinds for alike.
KindFactors before_dropout(const Mixture& before, KindGradient& gradient);
/// Of the parts of a sum.
KindGradient left_of(const MixedSum& sum, const KindGradient& gradient);
KindGradient right_of(const MixedSum& sum, const KindGradient& gradient);
/// Of two gradients of one place that add up, the first with a share of the seconds.
KindGradient sum_of_kinds(const KindGradient& a, const KindGradient& b, double share);
/// Below a norm, whose projection takes `radial` of what is along x.
KindFactors below_norm(const MixtureNorm& norm, const Eigen::ArrayXd& weight, double radial,
                       KindGradient& gradient);

}  // namespace scalecalc::moments
