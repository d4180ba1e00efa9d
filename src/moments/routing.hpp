#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "scalecalc/layers/experts.hpp"

/// Averages over a router's scores, which are independent Gaussians of one variance at the start
/// (docs/theory/experts.md#scores).
namespace scalecalc::moments {

/// What a router's weights w and their slopes J = dw/dz make of gradients of two tokens.
struct RoutedGradient {
  double weights = 0;  ///< E sum_e w_e(t) w_e(u)
  double slopes = 0;   ///< E sum_fe J_fe(t) J_fe(u)
  double across = 0;   ///< of J with its part along w taken out, as a norm behind the sum does
  double own = 0;      ///< E sum_e w_e(t)^2 w_e(u)^2/(S_t S_u)^(1/2), S = sum_e w_e^2 of a token
};

/// Of two tokens t and u, whose scores of an expert correlate.
struct RoutedPair {
  RoutedGradient plain;  ///< weights and slopes as they are
  /// Each times (S_t S_u)^(-1/2): a norm right behind the sum has divided by its size.
  RoutedGradient divided;
  double inverse = 0;  ///< E (S_t S_u)^(-1/2)
  double scatter = 0;  ///< Var sum_e w_e(t) w_e(u)
  double sizes = 0;    ///< Cov of sum_e w_e^2 of t and of u
  double loads = 0;    ///< E sum_e w_e(t)^2 w_e(u)^2
  double along = 0;    ///< E sum_e (J^T w)_e(t) (J^T w)_e(u)
  double error = 0;    ///< standard error of `weights`
};

/// Means over fixed draws of scores at equidistant angles, the same draws at each, and between
/// these by a cubic; the plain `weights` at correlation 0 is sum_e (E w_e)^2.
class Routing {
 public:
  /// The router's experts, top_k and scores; `variance`: of a score.
  Routing(const Experts& layer, double variance, int threads = 1);
  RoutedPair at(double correlation) const;
  /// d of the plain weights/d correlation, over a step of the angle.
  double rise(double correlation) const;
  /// Between three, of which the middle has this one's variance: by the parabola in ln(variance),
  /// in which they are `spread` apart. The draws are the same, and so is what they choose: means
  /// over them are smooth.
  Routing(const std::array<Routing, 3>& nodes, double variance, double spread);
  bool is_of(const Experts& layer) const;
  double variance() const { return variance_; }

 private:
  static constexpr int kAngles = 24;

  std::int64_t experts_, top_k_;
  Experts::Score score_;
  bool normalised_;
  double variance_;
  std::array<RoutedPair, kAngles + 1> of_angle_;
};

/// Those that a propagation has asked for. Routers of a deep network have nearly the same variance:
/// close to one that has been asked for, others are interpolated.
class Routings {
 public:
  /// How far variances are from the one in the middle, in the logarithm: a parabola leaves out
  /// about a sixteenth of its cube.
  static constexpr double kSpread = 0.02;

  const Routing& operator()(const Experts& layer, double variance, int threads);

 private:
  struct Sheet {
    Routing middle;
    std::vector<std::array<Routing, 3>> nodes;  ///< of a sheet that has been asked for twice
  };
  std::deque<Sheet> sheets_;
  std::deque<Routing> made_;  ///< between nodes
};

}  // namespace scalecalc::moments
