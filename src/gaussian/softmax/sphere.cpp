#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "gaussian/lane_sum.hpp"
#include "gaussian/softmax/check.hpp"
#include "gaussian/softmax/row.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc {
namespace gaussian::softmax {
namespace {

namespace vm = base::vector_math;
using vm::Real;

/// tau sqrt(n), the largest score: bumps are as many times narrower than the sphere.
constexpr double kLargestScore = 40.0;
constexpr double kSmallest = 1e-12;
/// What averages and the edges of the lattice leave.
constexpr double kRounding = 1e-8;

/// Coefficients of a bump whose strip of analyticity is pi/(2 tau sqrt(n)) wide fall as e^{-k} of
/// it, and products of two twice as fast: to e^{-16}.
int sphere_terms(double dimensions, double tau2) {
  const double largest = std::sqrt(tau2 * dimensions);
  return 6 + static_cast<int>(16.0 / std::numbers::pi * largest);
}

/// C_k(c)/C_k(1), k <= terms, on the sphere of n dimensions: (k+n-2) P_{k+1} = (2k+n-2) c P_k -
/// k P_{k-1}.
std::vector<double> zonal(double dimensions, double cosine, int terms) {
  std::vector<double> out = {1.0, cosine};
  for (int k = 1; k < terms; ++k)
    out.push_back(((2.0 * k + dimensions - 2.0) * cosine * out[static_cast<std::size_t>(k)] -
                   k * out[static_cast<std::size_t>(k) - 1]) /
                  (k + dimensions - 2.0));
  return out;
}

/// A row with the coefficients of z g_1 and z g_2, by z p_k = n^(1/2) (b_{k+1} p_{k+1} + b_k
/// p_{k-1}).
struct SphereRow {
  Row row;
  std::array<std::vector<double>, 2> h;

  SphereRow(double keys, double tau2, int terms, double dimensions)
      : row(Row::on_sphere(keys, tau2, terms, dimensions)) {
    if (row.terms() == 0) return;
    const double root = std::sqrt(dimensions);
    for (std::size_t k = 0; k < h.size(); ++k) {
      const int bump = static_cast<int>(k) + 1;
      for (std::size_t block = 0; block < row.blocks().size(); ++block) {
        for (int n = 0; n <= row.terms(); ++n) {
          const bool is_last = n == row.terms();
          for (std::size_t lane = 0; lane < vm::lanes; ++lane) {
            double value = 0.0;
            if (!is_last)
              value += root * gegenbauer_step(dimensions, n + 1) * row.h(bump, block, n + 1)[lane];
            if (n > 0)
              value += root * gegenbauer_step(dimensions, n) * row.h(bump, block, n - 1)[lane];
            h[k].push_back(value);
          }
        }
      }
    }
  }
  /// kLanes values, of z g_{k+1}.
  const double* along(std::size_t k, std::size_t block, std::size_t n) const {
    return &h[k][(block * (static_cast<std::size_t>(row.terms()) + 1) + n) * Row::kLanes];
  }
};

SoftmaxOnSphere::One one_of(const Row& row, double dimensions) {
  const double keys = row.keys();
  if (keys <= 1.0) return {1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0};
  // (E|k|)^2/E|k|^2 = (2/n) (Gamma((n+1)/2)/Gamma(n/2))^2 of Gaussian k.
  const double n = dimensions,
               ratio = std::exp(std::lgamma((n + 1.0) / 2.0) - std::lgamma(n / 2.0));
  const double together = 2.0 / n * ratio * ratio;
  std::array<double, 7> sums{};
  double coarse = 0;
  for (const Row::Block& block : row.blocks()) {
    const Real others = keys * block.weight * vm::exp((keys - 1.0) * block.log_f);
    const Real pairs = keys * (keys - 1.0) * block.weight * vm::exp((keys - 2.0) * block.log_f);
    const auto& g = block.g;
    const Real p2 = g[2] * others, p4 = g[4] * others / 6.0;
    const Real own = block.d2[2] * others;
    const Real m2 = own + together * block.d1[1] * block.d1[1] * pairs;
    const Real along =
        own - block.d2[3] * others + (block.d2[4] * others + block.d2[2] * g[2] * pairs) / 6.0;
    const std::array<Real, 7> terms = {
        p2, 0.5 * g[3] * others, p4, p4 + g[2] * g[2] * pairs / 6.0, m2, along, own};
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += lane_sum(terms[k]);
    for (std::size_t lane = 0; lane < vm::lanes; ++lane)
      coarse += lane % 2 == 0 ? p2[lane] : -p2[lane];
  }
  const auto& [p2, p3, p4, p22, m2, along, own] = sums;
  SoftmaxOnSphere::One out;
  out.p2 = p2;
  out.a = p2 - 2.0 * p3 + p22;
  out.p22 = p22;
  out.s = p2 - 2.0 * p3 + p4;
  out.m2 = m2;
  out.along = along;
  out.q1 = own - p2;
  out.error = 10.0 * coarse * coarse / p2 + kRounding * p2;
  return out;
}

/// O = n IntInt G_11 F^{n-1} psi^m du dv and its fellows, as of Gaussian scores (overlaps.cpp),
/// where averages over both scores are sum_k p_k h_j h_k, p_k zonal (Funk and Hecke).
SoftmaxOnSphere::Two two_of(const SphereRow& one, const SphereRow& two,
                            const std::vector<double>& series) {
  const Row &fewer = one.row, &more = two.row;
  const double keys = fewer.keys(), others = keys - 1.0;
  const std::size_t terms = std::min({series.size(), static_cast<std::size_t>(fewer.terms()) + 1,
                                      static_cast<std::size_t>(more.terms()) + 1});
  enum { kOverlap, kLeft, kRight, kSquare, kAlong, kCount };
  std::vector<Real> beyond;
  for (const Row::Block& v : more.blocks())
    beyond.push_back(v.weight * vm::exp((more.keys() - keys) * v.log_f));
  std::array<std::array<double, kCount>, 2> halves{};
  std::vector<std::array<double, 5>> left(terms);  ///< h_0, h_1, h_2, and of z g_1 and z g_2
  for (std::size_t i = 0; i < fewer.points(); ++i) {
    const std::size_t block = i / vm::lanes, lane = i % vm::lanes;
    const Row::Block& u = fewer.blocks()[block];
    for (std::size_t n = 0; n < terms; ++n)
      for (std::size_t k = 0; k < 3; ++k)
        left[n][k] = series[n] * fewer.h(static_cast<int>(k), block, static_cast<int>(n))[lane];
    for (std::size_t n = 0; n < terms; ++n)
      for (std::size_t k : {0, 1}) left[n][3 + k] = series[n] * one.along(k, block, n)[lane];
    std::array<Real, kCount> row{};
    for (std::size_t j = 0; j < more.blocks().size(); ++j) {
      Real f{}, g11{}, g21{}, g12{}, g22{}, z11{}, z21{}, z12{}, z22{};
      const double *const h0 = more.h(0, j, 0), *const h1 = more.h(1, j, 0),
                          *const h2 = more.h(2, j, 0);
      const double *const along_1 = two.along(0, j, 0), *const along_2 = two.along(1, j, 0);
      for (std::size_t n = 0, at = 0; n < terms; ++n, at += vm::lanes) {
        const Real v1 = vm::load(h1 + at), v2 = vm::load(h2 + at);
        f += left[n][0] * vm::load(h0 + at);
        g11 += left[n][1] * v1;
        g12 += left[n][1] * v2;
        g21 += left[n][2] * v1;
        g22 += left[n][2] * v2;
        const Real z1 = vm::load(along_1 + at), z2 = vm::load(along_2 + at);
        z11 += left[n][3] * z1;
        z12 += left[n][3] * z2;
        z21 += left[n][4] * z1;
        z22 += left[n][4] * z2;
      }
      const Real& v_fall = more.blocks()[j].fall;
      const double u_fall = u.fall[lane];
      const Real fall = vm::clamp(u_fall + v_fall - u_fall * v_fall - f, 0.0, 1.0 - kSmallest);
      const Real power = beyond[j] * keys * vm::exp(others * vm::log1p(-fall));
      row[kOverlap] += power * g11;
      row[kLeft] += power * g21;
      row[kRight] += power * g12;
      const Real different = others / (1.0 - fall) * g11;
      row[kSquare] += power * (g22 + different * g11);
      row[kAlong] += power * (z11 - z21 - z12 + z22 + different * z11);
    }
    for (std::size_t k = 0; k < kCount; ++k) halves[i % 2][k] += u.weight[lane] * lane_sum(row[k]);
  }
  const auto total = [&](std::size_t k) { return halves[0][k] + halves[1][k]; };
  const double overlap = total(kOverlap);
  const double coarse = (halves[0][kOverlap] - halves[1][kOverlap]) / overlap;
  // tr J J' = sum p p' - sum p^2 p' - sum p p'^2 + (sum p p')^2.
  return {overlap, keys > 1.0 ? overlap - total(kLeft) - total(kRight) + total(kSquare) : 0.0,
          total(kSquare), keys > 1.0 ? total(kAlong) : 0.0,
          overlap * (coarse * coarse + kRounding)};
}

}  // namespace
}  // namespace gaussian::softmax

struct SoftmaxOnSphere::Impl {
  double dimensions;
  std::vector<gaussian::softmax::SphereRow> rows;
};

bool SoftmaxOnSphere::covers(double dimensions, double tau2) {
  return dimensions >= 1.0 && std::sqrt(tau2 * dimensions) <= gaussian::softmax::kLargestScore;
}

SoftmaxOnSphere::SoftmaxOnSphere(double dimensions, const std::vector<SoftmaxRows::Row>& rows,
                                 bool pairs) {
  auto impl = std::make_shared<Impl>();
  impl->dimensions = dimensions;
  for (const SoftmaxRows::Row& row : rows) {
    gaussian::softmax::check_keys(row.keys);
    gaussian::softmax::check_variance(row.tau2);
    if (!covers(dimensions, row.tau2))
      throw Error(ErrorKind::input,
                  "unit vectors of fewer dimensions than one, or of scores beyond 40",
                  "dimensions");
    const int terms = pairs ? gaussian::softmax::sphere_terms(dimensions, row.tau2) : 0;
    impl->rows.emplace_back(row.keys, row.tau2, terms, dimensions);
  }
  impl_ = impl;
}

SoftmaxOnSphere::One SoftmaxOnSphere::one(std::size_t row) const {
  return gaussian::softmax::one_of(impl_->rows.at(row).row, impl_->dimensions);
}

SoftmaxOnSphere::Two SoftmaxOnSphere::two(std::size_t row, std::size_t other, double cosine) const {
  gaussian::softmax::check_correlation(cosine);
  const gaussian::softmax::SphereRow* fewer = &impl_->rows.at(row);
  const gaussian::softmax::SphereRow* more = &impl_->rows.at(other);
  if (fewer->row.keys() > more->row.keys()) std::swap(fewer, more);
  return gaussian::softmax::two_of(
      *fewer, *more,
      gaussian::softmax::zonal(impl_->dimensions, cosine,
                               std::max(fewer->row.terms(), more->row.terms())));
}

}  // namespace scalecalc
