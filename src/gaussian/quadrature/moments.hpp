#pragma once

#include "gaussian/quadrature/adaptive.hpp"

/// The five one-dimensional moments as integrands along a line.
namespace scalecalc::gaussian::quadrature {

class MomentIntegrand {
 public:
  /// mean, second, slope_mean, slope_second, fourth.
  static constexpr std::size_t channels = 5;

  MomentIntegrand(const Activation& activation, const Line& line)
      : activation_(activation), line_(line) {}
  const Line& line() const { return line_; }
  void evaluate(const std::vector<Panel>& panels, std::array<Integral, channels>* results);
  bool is_finite() const { return finite_; }

 private:
  const Activation& activation_;
  Line line_;
  bool finite_ = true;
};

}  // namespace scalecalc::gaussian::quadrature
