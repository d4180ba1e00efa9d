#pragma once

#include <optional>

#include "gaussian/quadrature/exact_rule.hpp"
#include "gaussian/quadrature/profile.hpp"

namespace scalecalc::gaussian::quadrature {

/// An integral and a bound of its error, from two levels of panels.
template <class P>
struct ExactIntegral {
  Number<P> value = 0, error = 0, absolute = 0;
};

/// A moment of one variable; of a pair with correlation 1 or -1, too. Nothing when the integrand
/// counts so far from the mean that the value could not be written out.
template <class P>
std::optional<ExactIntegral<P>> exact_line(const Profile& profile, Moment moment,
                                           const ExactInput<P>& input, int digits);

extern template std::optional<ExactIntegral<Shorter>> exact_line<Shorter>(
    const Profile&, Moment, const ExactInput<Shorter>&, int);
extern template std::optional<ExactIntegral<Longer>> exact_line<Longer>(const Profile&, Moment,
                                                                        const ExactInput<Longer>&,
                                                                        int);

}  // namespace scalecalc::gaussian::quadrature
