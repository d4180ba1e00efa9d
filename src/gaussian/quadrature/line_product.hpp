#pragma once

#include "gaussian/quadrature/adaptive.hpp"

namespace scalecalc::gaussian::quadrature {

/// f(u) f(v) along a line with two tracks, f being phi or phi'.
class LineProduct {
 public:
  static constexpr std::size_t channels = 1;
  LineProduct(const Activation& activation, bool slope, const Line& line)
      : activation_(activation), slope_(slope), line_(line) {}
  const Line& line() const { return line_; }
  bool is_finite() const { return finite_; }
  std::size_t evaluated() const { return evaluated_; }  ///< panels
  void evaluate(const std::vector<Panel>& panels, std::array<Integral, channels>* results);

 private:
  /// Panels at a time: their nodes stay in the first-level cache.
  static constexpr std::size_t most = 16;
  void evaluate_some(const Panel* panels, std::size_t count, std::array<Integral, 1>* results);

  const Activation& activation_;
  bool slope_;
  Line line_;
  bool finite_ = true;
  std::size_t evaluated_ = 0;
};

}  // namespace scalecalc::gaussian::quadrature
