#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/steps.hpp"
#include "steps/kernel.hpp"
#include "steps/own_change.hpp"
#include "steps/slopes.hpp"

namespace scalecalc::steps {

/// The change of a site's features by one step: dx_s = sum_t response_st g_t + noise, with g the
/// gradient that arrives here over the path that is walked, and noise of these second moments, of
/// which the weights ahead know nothing (docs/theory/first-step.md#response).
struct Tangent {
  Kernel noise, response;
  double truncation = 0;  ///< of E dx^2, of the orders that are left out
  Kernel total(const Kernel& gradient) const { return noise + response * response * gradient; }
};

/// A place on the way forward.
struct Point {
  Tangent change;
  Kernel values;    ///< E x_s x_t of a feature
  double mean = 0;  ///< E x
  Samples samples;
  std::vector<FeatureClass> features = {};  ///< where they are not Gaussian
  /// Var, over draws, of the average over features of x_s x_t, s != t; behind weights of what the
  /// input's makes it.
  double overlap_variance = 0;
  double excess = 0;  ///< as in MatrixUse
  /// In front of an activation: of E dx^2, what it is more where the slopes are larger.
  double with_slopes = 0;
  double of_row = 0;  ///< likewise: OwnChange::of_row, which goes with this sample's own slope
  std::vector<FeatureClass> classes() const {
    return features.empty() ? gaussian_features(mean, values, samples) : features;
  }
};

/// Of an entry of the matrix that acts.
double variance_of(const Linear& layer);
/// What a number of features that are independent given the input adds to overlap_variance.
double sampled_overlap(const Point& x, double width);

Error no_rule(const std::string& path, const std::string& what);

class Walk {
 public:
  /// Of so many steps.
  Walk(const Network& network, const Trace& trace, const OptimizerOptions& options, int steps);
  FirstStep run();

 private:
  Point run(const std::vector<Layer>& layers, Point x);
  /// MatrixUse::behind at the output of each of them, from that at the end.
  std::vector<double> behind_each(const std::vector<Layer>& layers, const Samples& samples);
  Point step(const Linear& layer, const Point& x);
  Point step(const ActivationLayer& layer, const Point& x);
  Point step(const Norm& layer, const Point& x);
  Point step(const Attention& layer, const Point& x);
  Point step(const Residual& layer, const Point& x);
  Point step(const Embedding& layer, const Point& x);
  Point step(const Gated& layer, const Point& x);
  Point step(const Dropout& layer, const Point& x);
  Point step(const Pool& layer, const Point& x);
  Point step(const Parallel& layer, const Point& x);
  template <class Op>
  Point step(const Op& layer, const Point& x);

  /// The gradient at the input of a layer, over it alone.
  Kernel gradient_into(const std::vector<Layer>& layers, const Point& x);
  Kernel gradient_into(const Layer& layer, const Point& x);
  Kernel gradient_into(const Parallel& layer, const Point& x);
  Kernel gradient_into(const Linear& layer, const Samples& samples);
  /// Over the skip connection.
  Kernel gradient_along(const Residual& layer, const Point& x);
  /// x as a path sees it that brings back the gradient `here`; all paths together bring `all`.
  Point enter(const Point& x, const Kernel& here, const Kernel& all) const;

  /// Of rows p of an attention's weights: p.p and p.p' of two queries, and by how much E v^2 of a
  /// feature is above what two tokens share of it.
  struct MixWeights {
    double own, others, apart;
  };
  MixWeights weights_of(const Attention& layer, const Samples& samples);
  Point mixed(const Attention& layer, const Point& q, const Point& k, const Point& v);
  void add_scores(const Attention& layer, const Point& q, const Point& k, const MixWeights& weights,
                  const Site& at, Tangent& change);
  /// Of E dy^2 that moved scores make, a share: orders of tokens over a head's features, and of
  /// overlaps of inputs, both of queries and of keys; scores, weights and values move together.
  double scores_left_out(const Attention& layer, const Point& q);
  Point through_norm(const Norm& layer, const Site& at, const Point& x);
  /// What the norm divides by, squared.
  double centred_square(const Norm& layer, const Point& x) const;
  double norm_of_sum(const Residual& layer, const Point& x);
  double sum_square(const Residual& layer);
  static const std::string& end_of(const std::vector<Layer>& layers);

  struct Slopes {
    SlopeAverages near, far;  ///< of two tokens of a sequence, of two sequences
    Kernel kernel;            ///< E of a product of two slopes
  };
  Slopes slopes_of(const std::string& function, const Point& x) const;
  Slopes slopes_of(const ActivationLayer& layer, const Point& x) const {
    return slopes_of(layer.function, x);
  }

  /// The classes of features at the input of an activation, and of logits, by their gradients.
  std::vector<GradientClass> behind_activation(const Linear& layer, const ActivationLayer& next,
                                               const Samples& samples);
  std::vector<GradientClass> of_logits(const Site& head, const Samples& samples) const;

  std::int64_t smallest_width() const;
  /// The site that moves by the largest share of itself.
  struct Move {
    std::string where;
    double relative;
  };
  Move largest_move() const;
  void add_later_orders();
  void assume();

  const Site& site(const std::string& path);
  Point arrive(const Site& at, const Tangent& change, const Samples& samples);
  /// Of all steps together.
  Update update_of(std::size_t parameter) const;
  /// What the last of them is of all, squared.
  double share_of_last(std::size_t parameter) const;
  /// Adds what the parameter's own step does to each of so many features.
  OwnChange add_own(const std::string& path, const MatrixUse& use, double features,
                    Tangent& change);
  double unresolved(const std::string& path, MatrixUse use);
  /// Of E of the own change squared, beside what the response and OwnChange::of_row say of it: what
  /// it is more where the gradients of a feature are larger than those of others.
  double more_where_steep(const std::string& path, MatrixUse use);
  void add_scale(const Residual& layer, const Kernel& branch, const Kernel& gradient, Point& sum);

  const Network& network_;
  const Trace& trace_;
  const OptimizerOptions& options_;
  int steps_;
  std::vector<ParameterInfo> parameters_;
  std::unordered_map<std::string_view, std::size_t> sites_, indices_;
  double global_norm_ = 0, loss_change_ = 0;
  Samples input_;
  const ActivationLayer* next_ = nullptr;  ///< what reads the layer that is walked through, alone
  /// MatrixUse::concentration and parts of that layer.
  double concentration_ = 0, parts_ = 1;
  double behind_ = 0;      ///< MatrixUse::behind, at the output of the layer that is walked through
  bool averaged_ = false;  ///< MatrixUse::averaged of that layer
  std::unordered_map<const Residual*, double> sums_;
  FirstStep made_;
};

}  // namespace scalecalc::steps
