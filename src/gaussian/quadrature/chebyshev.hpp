#pragma once

#include <functional>
#include <vector>

/// A function of one variable as polynomials between a few places, made once and cheap to evaluate.
namespace scalecalc::gaussian::quadrature {

struct Sample {
  double value = 0, error = 0;
};

class PiecewiseChebyshev {
 public:
  /// Halves [low, high] until the last coefficients are below `tolerance`, or as small as they get,
  /// and f is met at the places of `checks`: what happens between two nodes shows there alone.
  PiecewiseChebyshev(const std::function<Sample(double)>& f, double low, double high,
                     double tolerance, const std::vector<double>& checks = {});

  struct Value {
    double value = 0, slope = 0, curvature = 0, error = 0;
  };
  double value(double at) const;
  double error(double at) const;
  /// With both derivatives.
  Value derivatives(double at) const;

 private:
  struct Piece {
    double low, high, error;
    std::vector<double> coefficients;
    double value(double at) const;
  };
  struct Task {
    const std::function<Sample(double)>& f;
    double tolerance;
    const std::vector<double>& checks;
  };
  void build(const Task& task, double low, double high, int depth);
  const Piece& piece(double at) const;

  std::vector<Piece> pieces_;
};

}  // namespace scalecalc::gaussian::quadrature
