#include "symbolic/bivariate_normal.hpp"

#include <boost/math/special_functions/owens_t.hpp>
#include <cmath>

#include "symbolic/canonical.hpp"

namespace scalecalc::symbolic {
namespace arithmetic {
namespace {

template <class Float>
Float upper_tail(Float x) {
  return std::erfc(x / std::sqrt(Float(2))) / 2;
}

template <class Float>
Float owens_t_of(Float h, Float a) {
  if (std::isnan(h) || std::isnan(a)) return h + a;
  if (std::isinf(h) || a == 0) return 0;
  if (std::isinf(a)) return std::copysign(upper_tail(std::fabs(h)) / 2, a);
  return boost::math::owens_t(h, a);
}

/// Owen 1956: half of Phi(h) + Phi(k), less T(h, (k - r h)/(h s)), less T(k, (h - r k)/(k s)), less
/// 1/2 where h and k have opposite signs; s = (1 - r^2)^(1/2).
template <class Float>
Float phi2_of(Float h, Float k, Float r) {
  if (std::isnan(h) || std::isnan(k) || !(r >= -1 && r <= 1)) return std::nan("");
  if (r == 1) return upper_tail(-std::fmin(h, k));
  if (r == -1) {
    const Float strip = h < 0 ? upper_tail(-h) - upper_tail(k) : upper_tail(-k) - upper_tail(h);
    return std::fmax(strip, Float(0));
  }
  if (h == 0 && k == 0) return std::acos(-r) / (2 * std::acos(Float(-1)));
  if (std::isinf(h)) return h < 0 ? Float(0) : upper_tail(-k);
  if (std::isinf(k)) return k < 0 ? Float(0) : upper_tail(-h);
  const Float s = std::sqrt((1 - r) * (1 + r));
  const auto corner = [&](Float x, Float y) {
    if (x == 0) return std::copysign(Float(0.25), y);
    return owens_t_of(x, (y / x - r) / s);
  };
  const bool opposite = (h < 0) != (k < 0) && !(h == 0 && k > 0) && !(k == 0 && h > 0);
  const Float value = (upper_tail(-h) + upper_tail(-k)) / 2 - corner(h, k) - corner(k, h) -
                      (opposite ? Float(0.5) : Float(0));
  return std::fmax(value, Float(0));
}

}  // namespace

double owens_t(double h, double a) {
  return owens_t_of(h, a);
}
long double owens_t(long double h, long double a) {
  return owens_t_of(h, a);
}
double phi2(double h, double k, double r) {
  return static_cast<double>(phi2_of(static_cast<long double>(h), static_cast<long double>(k),
                                     static_cast<long double>(r)));
}
long double phi2(long double h, long double k, long double r) {
  return phi2_of(h, k, r);
}

}  // namespace arithmetic

namespace {

using Arguments = std::vector<Expr>;

Expr half() {
  return Rational(1, 2);
}
Expr call(const char* name, const Expr& x) {
  return Expr::function(name, {x});
}
Expr density(const Expr& x) {
  return pow(2 * Expr::pi(), -half()) * exp(-pow(x, 2) * half());
}

/// Even in h, odd in a; T(0, a) = atan(a)/(2 pi), T(h, 1) = Phi(h) Phi(-h)/2.
std::optional<Expr> fold_owens_t(const Arguments& arguments) {
  const Expr &h = arguments[0], &a = arguments[1];
  if (a.is_zero()) return Expr(0);
  if (h.is_zero()) return call("atan", a) / (2 * Expr::pi());
  if (a.is_one()) return half() * call("Phi", h) * call("Phi", -h);
  if (prefers_opposite(a)) return -Expr::function("owens_t", {h, -a});
  if (prefers_opposite(h)) return Expr::function("owens_t", {-h, a});
  return std::nullopt;
}

/// Symmetric in h and k; Sheppard: Phi2(0, 0, r) = acos(-r)/(2 pi).
std::optional<Expr> fold_phi2(const Arguments& arguments) {
  const Expr &h = arguments[0], &k = arguments[1], &r = arguments[2];
  if (r.is_zero()) return call("Phi", h) * call("Phi", k);
  if (h.is_zero() && k.is_zero()) return call("acos", -r) / (2 * Expr::pi());
  if (r.is_one()) return call("Phi", Expr::function("min", {h, k}));
  if (k < h) return Expr::function("Phi2", {k, h, r});
  return std::nullopt;
}

/// dT/dh = -phi(h) erf(a h/2^(1/2))/2, dT/da = exp(-h^2 (1 + a^2)/2)/(2 pi (1 + a^2)).
Expr slope_of_owens_t(const Arguments& arguments, std::size_t place) {
  const Expr &h = arguments[0], &a = arguments[1];
  if (place == 0) return -half() * density(h) * call("erf", a * h / sqrt(Expr(2)));
  const Expr radius = 1 + pow(a, 2);
  return exp(-half() * pow(h, 2) * radius) / (2 * Expr::pi() * radius);
}

/// dP/dh = phi(h) Phi((k - r h)/s); dP/dr is the joint density at (h, k).
Expr slope_of_phi2(const Arguments& arguments, std::size_t place) {
  const Expr &h = arguments[0], &k = arguments[1], &r = arguments[2];
  const Expr rest = 1 - pow(r, 2);
  if (place == 2) {
    const Expr distance = pow(h, 2) - 2 * r * h * k + pow(k, 2);
    return exp(-distance / (2 * rest)) / (2 * Expr::pi() * sqrt(rest));
  }
  const Expr &near = place == 0 ? h : k, &far = place == 0 ? k : h;
  return density(near) * call("Phi", (far - r * near) / sqrt(rest));
}

}  // namespace

Function owens_t_function() {
  Function row;
  row.name = "owens_t";
  row.least_arguments = row.most_arguments = 2;
  row.fold = fold_owens_t;
  row.partial = slope_of_owens_t;
  row.latex = "T";
  row.python = "scipy.special.owens_t";
  row.c = "owens_t";
  row.in_double = [](std::span<const double> x) { return arithmetic::owens_t(x[0], x[1]); };
  row.in_interval = [](std::span<const Interval> x) { return arithmetic::owens_t(x[0], x[1]); };
  return row;
}

Function phi2_function() {
  Function row;
  row.name = "Phi2";
  row.least_arguments = row.most_arguments = 3;
  row.range = Range::nonnegative;
  row.fold = fold_phi2;
  row.partial = slope_of_phi2;
  row.latex = "\\Phi_2";
  row.python = row.c = "Phi2";
  row.in_double = [](std::span<const double> x) { return arithmetic::phi2(x[0], x[1], x[2]); };
  row.in_interval = [](std::span<const Interval> x) { return arithmetic::phi2(x[0], x[1], x[2]); };
  return row;
}

}  // namespace scalecalc::symbolic
