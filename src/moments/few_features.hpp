#pragma once

/// The way back through k/(s + eps)^(1/2), s = |k|^2/n the square of n Gaussian features: of few
/// ones, whose lengths fluctuate past an expansion in 1/n
/// (docs/theory/attention.md#few-normed-features).
namespace scalecalc::moments {

class FewFeatures {
 public:
  /// `share` of E s in E s + eps.
  FewFeatures(double features, double share);
  double share() const { return share_; }
  /// With J the derivative, (E s + eps) E tr J J^T/n: 0 of one feature without eps, which leaves
  /// its sign. Of two without eps it is infinite, and that of a length of three stands for it.
  double second() const { return second_; }
  /// (E s + eps) E tr J J'^T/n of two vectors at a cosine c: E tr J E tr J'/n^2 at 0, `second`
  /// at 1.
  double cross(double c) const;

 private:
  double features_, share_;
  double second_ = 0, apart_ = 0;
  double cut_ = 0;    ///< of 1 - c^2, what eps leaves at c = 1
  double scale_ = 1;  ///< of what cross() has past c = 0
  double start_ = 0;  ///< without eps, at c = 0
};

/// Without eps: d/dc of the mean cosine of two unit vectors of n Gaussian features at 1 - c^2 =
/// `apart`.
double unit_slope(double features, double apart);

}  // namespace scalecalc::moments
