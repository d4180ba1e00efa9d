#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "claims/place.hpp"
#include "scalecalc/claims.hpp"
#include "scalecalc/gaussian.hpp"
#include "scalecalc/symbolic.hpp"

/// One way to find the numbers of a claim. Lowering turns a formula into one Expr; where a number
/// has to be found first (an expectation, a network's moment), it stands in the Expr as a symbol
/// that the engine knows the value and the error of.
namespace scalecalc::claims {

class Networks;

class Engine {
 public:
  Engine(ClaimMethod method, const CheckOptions& options, Networks& networks);

  ClaimMethod method() const { return method_; }
  /// Whether expectations are sampled here: not inside roots, integrals and extremes, whose errors
  /// nobody would know.
  bool samples() const { return method_ == ClaimMethod::montecarlo && unsampled_ == 0; }
  /// Means that a handful of draws make up have no standard error to go by: at points that the
  /// claim's author did not choose, they are left out.
  void distrust_few_samples() { distrusts_few_ = true; }
  bool distrusts_few() const { return distrusts_few_; }
  /// Values far from 1 are tried, which iterated integrals do not resolve.
  void go_far_out() { is_far_out_ = true; }
  bool is_far_out() const { return is_far_out_; }
  void begin_unsampled() { ++unsampled_; }
  void end_unsampled() { --unsampled_; }
  bool is_symbolic() const { return method_ == ClaimMethod::symbolic; }
  const CheckOptions& options() const { return options_; }
  Networks& networks() { return networks_; }

  /// A found number. Throws Error(input) for one that is not finite.
  Expr leaf(const Estimate& estimate);
  Expr leaf(double value, double error = 0) { return leaf(Estimate{value, error, {}}); }
  /// The value of an expression of numbers and leaves, and what the leaves' errors make of it.
  Estimate estimate(const Expr& expr) const;
  /// The same without the rounding of the formula itself: enclosed at the leaves' values.
  Estimate certain(const Expr& expr) const;
  /// What the formula adds up at the leaves' values, each term taken positive.
  double magnitude(const Expr& expr) const;
  double value(const Expr& expr) const { return estimate(expr).value; }
  /// Every leaf replaced by its value, as an exact binary fraction. Throws NotApplicable for
  /// sampled ones, whose error would be lost.
  Expr without_leaves(const Expr& expr) const;
  static bool is_leaf(const std::string& symbol) { return symbol.starts_with("leaf__"); }

  /// Counts a step of a loop. Throws Error(input) past a million in one claim.
  void spend(std::int64_t steps = 1);
  /// Expectations are drawn from streams of their own, in the order of the text.
  std::uint64_t next_stream() { return ++streams_; }

 private:
  std::map<std::string, std::size_t> leaves_of(const Expr& expr) const;

  ClaimMethod method_;
  const CheckOptions& options_;
  Networks& networks_;
  std::vector<Estimate> leaves_;
  std::int64_t steps_ = 0;
  std::uint64_t streams_ = 0;
  int unsampled_ = 0;
  bool distrusts_few_ = false, is_far_out_ = false;
};

}  // namespace scalecalc::claims
