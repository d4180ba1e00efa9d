#pragma once

#include "gaussian/quadrature/exact_line.hpp"

namespace scalecalc::gaussian::quadrature {

/// A pair expectation with |c| < 1, by the Hermite series where it converges, else in the plane.
template <class P>
ExactIntegral<P> exact_pair(const Profile& profile, bool slope, const ExactInput<P>& input,
                            int digits);

extern template ExactIntegral<Shorter> exact_pair<Shorter>(const Profile&, bool,
                                                           const ExactInput<Shorter>&, int);
extern template ExactIntegral<Longer> exact_pair<Longer>(const Profile&, bool,
                                                         const ExactInput<Longer>&, int);

}  // namespace scalecalc::gaussian::quadrature
