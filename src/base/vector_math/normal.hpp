#pragma once

#include "base/vector_math/exponential.hpp"

/// The normal distribution function and the error functions. Coefficients:
/// tables/reference/vector_math.py.
namespace scalecalc::base::vector_math {
inline namespace SCALECALC_LANES_NAMESPACE {

namespace detail {

/// exp(y^2/2) Q(y) for 0 <= y <= 40, Q being the upper tail of N(0, 1).
inline Real scaled_tail(const Real& y) {
  static constexpr double c[] = {
      0.8496957717177205,      0.7004649271683128,      0.4843749841428283,
      0.27811948195867997,     0.12948165075059495,     0.046439848470853265,
      0.011238259242263328,    0.0008922360020736026,   -0.0005313521415897011,
      -0.00019836152033305595, 4.026922477945737e-06,   1.8309592027131095e-05,
      1.981445141533275e-06,   -1.6318509051063453e-06, -3.1421677362217043e-07,
      1.6606397939451346e-07,  3.7391889098219515e-08,  -1.9964521831183756e-08,
      -3.797267110837586e-09,  2.6395622673183048e-09,  2.874422758235224e-10,
      -3.2107351369616747e-10, -6.77869263129669e-12,   2.4565592900553427e-11,
      -1.1692599428844364e-12};
  const Real w = 1.0 / (y + 5.0);
  return polynomial((5.0 - 1.25 * y) * w, c) * w;
}

/// erf(x)/x in x^2, for |x| <= 1.
inline Real erf_ratio(const Real& square) {
  static constexpr double c[] = {
      1.1283791670955126,      -0.37612638903183754,    0.1128379167095512,
      -0.02686617064512984,    0.0052239776254232985,   -0.000854832702193483,
      0.00012055332902888736,  -1.4925647567519332e-05, 1.6462045441468418e-06,
      -1.6364642158167616e-07, 1.4792401209404813e-08,  -1.216456005728345e-09,
      8.709045129053106e-11,   -4.230945824295338e-12};
  return polynomial(square, c);
}

inline constexpr double half_root = 0.35355339059327379;  // 2^(-3/2)

/// erfc(|x|), given e = exp(-x^2).
inline Real upper_erfc(const Real& x, const Real& e) {
  return 2.0 * e * scaled_tail(1.4142135623730951 * abs(clamp(x, -28.0, 28.0)));
}

}  // namespace detail

/// The normal distribution function, given e = exp(-x^2/2).
inline Real phi(const Real& x, const Real& e) {
  const Real inside = clamp(x, -40.0, 40.0);
  const Real upper = e * detail::scaled_tail(abs(inside));
  const Real tails = x < 0.0 ? upper : 1.0 - upper;
  const Real near = clamp(x, -1.0, 1.0);
  const Real centre = 0.5 + near * (detail::half_root * detail::erf_ratio(0.5 * near * near));
  return abs(x) < 0.7 ? centre : tails;
}
inline Real phi(const Real& x) {
  return phi(x, exp_of_square(x, -0.5));
}

/// Given e = exp(-x^2).
inline Real erf(const Real& x, const Real& e) {
  const Real inside = clamp(x, -1.0, 1.0);
  const Real small = inside * detail::erf_ratio(inside * inside);
  const Real large = with_sign(1.0 - detail::upper_erfc(x, e), x);
  const Real value = abs(x) < 0.75 ? small : large;
  return x != x ? x : value;
}
inline Real erf(const Real& x) {
  return erf(x, exp_of_square(x, -1.0));
}

/// Given e = exp(-x^2).
inline Real erfc(const Real& x, const Real& e) {
  const Real upper = detail::upper_erfc(x, e);
  const Real tails = x < 0.0 ? 2.0 - upper : upper;
  const Real near = clamp(x, -1.0, 1.0);
  return abs(x) < 0.5 ? 1.0 - near * detail::erf_ratio(near * near) : tails;
}
inline Real erfc(const Real& x) {
  return erfc(x, exp_of_square(x, -1.0));
}

}  // namespace SCALECALC_LANES_NAMESPACE
}  // namespace scalecalc::base::vector_math
