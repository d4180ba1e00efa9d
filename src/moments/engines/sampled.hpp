#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "moments/attention_softmax.hpp"
#include "moments/head_softmax.hpp"
#include "moments/interpolation.hpp"

namespace scalecalc::moments {

/// The calculus of double with every Gaussian expectation sampled: one replicate of a propagation.
/// Several of them, drawn apart, show the standard error of whatever the rules make of the samples,
/// however their errors hang together.
class Sampled : public Numbers {
 public:
  /// `samples` of each expectation, half of them mirror images of the other half.
  Sampled(const PropagateOptions& options, std::int64_t samples, std::uint64_t seed,
          std::uint64_t replicate);

  double expectation(Function f, Moment moment, const Token<double>& u) override;
  double pair(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
              double cross) override;

  const HeadSoftmax& softmax_head(std::int64_t classes, double tau2) override;
  double softmax_second(const HeadSoftmax& head, double tau2) override;
  double softmax_cross(const HeadSoftmax& head, double tau2_t, double tau2_u,
                       double cross) override;
  /// P2, A, O and A' sampled; what only ever multiplies 1/d stays integrated.
  SoftmaxAverages softmax_averages(const ScoreLine& line, double c) override;
  SoftmaxSamples softmax(std::int64_t keys, double tau2, double correlation);
  /// By draws of that seed.
  SoftmaxSamples softmax(std::int64_t keys, double tau2, double correlation, std::uint64_t seed);

  std::int64_t samples() const { return 2 * static_cast<std::int64_t>(half_); }

 private:
  /// A function that draws make of one number, asked for at each pair of positions under a mask:
  /// past a few times it is interpolated, which leaves far less than the noise of its draws.
  class Curve {
   public:
    template <class F>
    double operator()(double x, double low, double high, const F& f) {
      if (++asked_ <= count) return f(x);
      if (values_.empty()) {
        points_ = {low, high, count};
        for (const double at : points_.at()) values_.push_back(f(at));
      }
      return points_(x, [this](std::size_t k) { return values_[k]; });
    }

   private:
    static constexpr int count = 12;
    int asked_ = 0;
    ChebyshevPoints points_;
    std::vector<double> values_;
  };
  /// By acos(c), at one site and two variances.
  struct PairCurve {
    Function function{};
    Token<double> u{}, v{};
    Curve by_angle;
  };
  /// Of logits of one size: E p^2, and the overlap by c.
  struct HeadCurve {
    double tau2 = -1;
    std::uint64_t seed = 0;
    std::optional<double> second;
    Curve by_correlation;
  };
  void meet_head(double tau2);
  PairCurve& curve_of(Function f, Moment moment, const Token<double>& u, const Token<double>& v);
  double pair_at(Function f, Moment moment, const Token<double>& u, const Token<double>& v,
                 double c);

  /// For draws of another kind.
  std::uint64_t next_seed();
  /// Fresh draws for each site; both numbers of a pair, and every pair of positions of one site,
  /// share them.
  void draw();

  std::uint64_t seed_, replicate_, draws_ = 0;
  std::size_t half_;
  std::string drawn_for_;
  std::map<Moment, PairCurve> curves_;
  HeadCurve head_;
  std::map<std::int64_t, HeadSoftmax> heads_;  ///< by classes, of which they know no more
  std::vector<double> z_, w_, u_, v_, value_u_, value_v_, slope_u_, slope_v_;
};

}  // namespace scalecalc::moments
