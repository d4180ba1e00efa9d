#include "base/vector_math.hpp"

#include <doctest/doctest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace scalecalc {
namespace {

namespace vm = base::vector_math;

/// An MPFR number of 160 bits.
struct Exact {
  mpfr_t value;
  Exact() { mpfr_init2(value, 160); }
  ~Exact() { mpfr_clear(value); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
};

using Reference = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

int normal(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  Exact scaled;
  mpfr_sqrt_ui(scaled.value, 2, rounding);
  mpfr_div(scaled.value, x, scaled.value, rounding);
  mpfr_neg(scaled.value, scaled.value, rounding);
  mpfr_erfc(result, scaled.value, rounding);
  return mpfr_div_ui(result, result, 2, rounding);
}
int sigmoid(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_neg(result, x, rounding);
  mpfr_exp(result, result, rounding);
  mpfr_add_ui(result, result, 1, rounding);
  return mpfr_ui_div(result, 1, result, rounding);
}
int softplus(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_cmp_d(x, 1e6) > 0) return mpfr_set(result, x, rounding);
  mpfr_exp(result, x, rounding);
  return mpfr_log1p(result, result, rounding);
}
int density(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_sqr(result, x, rounding);
  mpfr_div_si(result, result, -2, rounding);
  return mpfr_exp(result, result, rounding);
}

/// The error in units in the last place of the exact value; of the smallest double below them.
double error_of(double value, double x, Reference reference) {
  Exact at, exact;
  mpfr_set_d(at.value, x, MPFR_RNDN);
  reference(exact.value, at.value, MPFR_RNDN);
  const double nearest = mpfr_get_d(exact.value, MPFR_RNDN);
  if (nearest == value || (std::isnan(nearest) && std::isnan(value))) return 0;
  if (!std::isfinite(nearest) || !std::isfinite(value)) {
    return std::numeric_limits<double>::infinity();
  }
  const double unit = std::max(std::ldexp(1.0, std::ilogb(nearest) - 52),
                               std::numeric_limits<double>::denorm_min());
  mpfr_sub_d(exact.value, exact.value, value, MPFR_RNDN);
  return std::fabs(mpfr_get_d(exact.value, MPFR_RNDN)) / unit;
}

std::vector<double> points(double low, double high) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(low, high), decade(-320, 308);
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> all{0.0,     -0.0,  infinity, -infinity, std::nan(""), 5e-324,
                          -5e-324, 1e308, -1e308,   709.78,    -745.13,      710.5};
  for (int k = 0; k < 20000; ++k) all.push_back(uniform(random));
  for (int k = 0; k < 4000; ++k) {
    const double size = std::pow(10, decade(random));
    all.insert(all.end(), {size, -size});
  }
  return all;
}

template <class Function>
double worst_error(Function function, Reference reference, double low, double high) {
  const std::vector<double> x = points(low, high);
  std::vector<double> y(x.size());
  vm::apply(function, x.data(), y.data(), x.size());
  double worst = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    worst = std::max(worst, error_of(y[k], x[k], reference));
  }
  return worst;
}

}  // namespace

// Measured over ten times as many points: 1.0, 1.1, 1.8, 0.8, 0.8 and so on; the bounds leave room
// for machines without fused operations.
TEST_CASE("vector_math: errors in units in the last place") {
  using R = const vm::Real&;
  CHECK(worst_error([](R x) { return vm::exp(x); }, mpfr_exp, -750, 715) < 1.5);
  CHECK(worst_error([](R x) { return vm::exp(x); }, mpfr_exp, -2, 2) < 1.5);
  CHECK(worst_error([](R x) { return vm::exp_of_square(x, -0.5); }, density, -39, 39) < 2);
  CHECK(worst_error([](R x) { return vm::expm1(x); }, mpfr_expm1, -3, 3) < 2.5);
  CHECK(worst_error([](R x) { return vm::expm1(x); }, mpfr_expm1, -60, 720) < 2.5);
  CHECK(worst_error([](R x) { return vm::log(x); }, mpfr_log, 0, 3) < 1.5);
  CHECK(worst_error([](R x) { return vm::log1p(x); }, mpfr_log1p, -1, 3) < 1.5);
  CHECK(worst_error([](R x) { return vm::sigmoid(x); }, sigmoid, -50, 50) < 3);
  CHECK(worst_error([](R x) { return vm::softplus(x); }, softplus, -50, 50) < 3);
  CHECK(worst_error([](R x) { return vm::tanh(x); }, mpfr_tanh, -20, 20) < 3);
  CHECK(worst_error([](R x) { return vm::tanh(x); }, mpfr_tanh, -1, 1) < 3);
  CHECK(worst_error([](R x) { return vm::phi(x); }, normal, -38, 9) < 7);
  CHECK(worst_error([](R x) { return vm::phi(x); }, normal, -3, 3) < 7);
  CHECK(worst_error([](R x) { return vm::erf(x); }, mpfr_erf, -6, 6) < 3);
  CHECK(worst_error([](R x) { return vm::erfc(x); }, mpfr_erfc, -5, 27) < 7);
  CHECK(worst_error([](R x) { return vm::sin(x); }, mpfr_sin, -4, 4) < 2);
  CHECK(worst_error([](R x) { return vm::sin(x); }, mpfr_sin, -1e5, 1e5) < 2);
  CHECK(worst_error([](R x) { return vm::cos(x); }, mpfr_cos, -1e5, 1e5) < 2);
}

TEST_CASE("vector_math: a lane does not depend on its neighbours or its place") {
  const std::vector<double> x = points(-10, 10);
  std::vector<double> all(x.size());
  const auto function = [](const vm::Real& v) { return vm::phi(v); };
  vm::apply(function, x.data(), all.data(), x.size());
  for (std::size_t k = 0; k < 200; ++k) {
    double alone = 0;
    vm::apply(function, &x[k], &alone, 1);
    CHECK((alone == all[k] || (std::isnan(alone) && std::isnan(all[k]))));
  }
}

}  // namespace scalecalc
