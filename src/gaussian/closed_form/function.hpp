#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "gaussian/closed_form/derive.hpp"
#include "gaussian/closed_form/program.hpp"

namespace scalecalc {

/// The formulas of one moment of one activation, each found when it is first asked for.
struct ClosedFormFunction::Impl {
  Impl(const Activation& activation_in, Moment moment_in)
      : activation(activation_in), moment(moment_in) {}

  struct Entry {
    ClosedForm form;
    std::optional<gaussian::Program> program;
  };
  const Entry& entry(InputMean mean, gaussian::Correlation correlation) const;

  const Activation activation;
  const Moment moment;

 private:
  struct Slot {
    std::once_flag once;
    Entry entry;
  };
  mutable std::array<Slot, 4> slots_;
};

namespace gaussian {

/// One Impl per activation and moment, as long as the process runs.
std::shared_ptr<const ClosedFormFunction::Impl> shared_function(const Activation& activation,
                                                                Moment moment);
/// A 1-D moment's formula in extended precision alone, at a positive variance: what cancels stands
/// in the error, which may be infinite or NaN. Nothing without a formula.
std::optional<Estimate> unrefined_value(const Activation& activation, Moment moment,
                                        const GaussianInput& input);
/// Why the moment is infinite, or nothing.
std::optional<std::string> infinite_because(const Activation& activation, Moment moment);

/// Whether the mean stands on a break (then the one after `piece`).
struct Place {
  std::size_t piece = 0;
  bool on_break = false;
};
/// The moment of an input that is `mean` for certain, from the values on both sides when that is a
/// break: the limit for a small variance. `left` and `right` are equal elsewhere.
Expr point_mass(Moment moment, const Expr& left, const Expr& right, const Expr& correlation);
bool is_slope(Moment moment);
/// The moment of one variable that a pair turns into at correlation 0 (squared) and 1.
Moment factor_of(Moment pair_moment);
Moment square_of(Moment pair_moment);

}  // namespace gaussian
}  // namespace scalecalc
