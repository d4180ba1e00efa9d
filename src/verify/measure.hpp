#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "scalecalc/verify.hpp"

namespace scalecalc {

/// One value of one draw of one network.
struct Measurement {
  Quantity quantity = Quantity::delta_loss;
  Expr update;
  std::optional<SecondRule> rest = {};
  ParameterSet parameters = ParameterSet::branch;
  double eta = 0;
  std::uint64_t seed = 0;
  int threads = 1;
  std::string device = "cpu";
  bool recompute = false;
  /// Told the share of this measurement that is done; may throw to end it.
  std::function<void(double share)> advance;
};

template <class Real>
double measure(const Network& network, const Measurement& measurement);
extern template double measure<float>(const Network&, const Measurement&);
extern template double measure<double>(const Network&, const Measurement&);

/// Whether a sweep over this set counts the parameter.
bool counts(const ParameterInfo& info, ParameterSet set);
/// Whether the quantity is defined by an update rule.
bool needs_update(Quantity quantity);

/// A difference of two losses needs the digits of double.
bool in_single_precision(const SweepOptions& options);

/// The power of global_norm in a rule that has it as a factor, so that a step computed with
/// global_norm = 1 can be corrected once the norm is known. Empty for any other rule.
std::optional<Rational> global_norm_power(const Expr& rule);

/// lambda of the fit W = lambda U, lambda^2 = |W W^T|^2 / tr(W W^T): W W^T against a multiple of I.
template <class Real>
double fitted_scale(const Real* weights, std::int64_t rows, std::int64_t columns);
extern template double fitted_scale<float>(const float*, std::int64_t, std::int64_t);
extern template double fitted_scale<double>(const double*, std::int64_t, std::int64_t);

}  // namespace scalecalc
