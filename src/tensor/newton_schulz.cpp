#include "tensor/newton_schulz.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace scalecalc::tensor {
namespace {

constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;

}  // namespace

template <class Real>
NewtonSchulz<Real>::NewtonSchulz(const std::shared_ptr<Device<Real>>& device, std::int64_t entries,
                                 std::int64_t inner)
    : device_(device),
      other_(device, entries, 1),
      gram_(device, inner, inner),
      square_(device, inner, inner),
      polynomial_(device, inner, inner) {}

template <class Real>
Real* NewtonSchulz<Real>::operator()(std::int64_t rows, std::int64_t columns, Real* matrix,
                                     int steps) {
  const bool wide = rows <= columns;
  const std::int64_t inner = std::min(rows, columns), entries = rows * columns;
  const LinearShape left{rows, rows, columns}, right{rows, columns, columns};
  Real *x = other_.data(), *next = matrix;
  const double norm = std::sqrt(device_->dot(entries, matrix, matrix));
  const double scale = norm == 0.0 ? 0.0 : 1.0 / norm;
  device_->blend_forward(entries, scale, matrix, 0.0, matrix, x);
  for (int step = 0; step < steps; ++step) {
    if (wide) {
      device_->linear_backward_input(left, x, x, {gram_.data()});
    } else {
      device_->linear_backward_weight(right, x, x, {gram_.data()});
    }
    device_->linear_forward({inner, inner, inner}, gram_.data(), gram_.data(), nullptr,
                            square_.data());
    device_->blend_forward(inner * inner, kB, gram_.data(), kC, square_.data(), polynomial_.data());
    if (wide) {
      device_->linear_forward(left, polynomial_.data(), x, nullptr, next);
    } else {
      device_->linear_forward(right, x, polynomial_.data(), nullptr, next);
    }
    device_->scaled_backward(entries, kA, x, {next, true});
    std::swap(x, next);
  }
  return x;
}

template class NewtonSchulz<float>;
template class NewtonSchulz<double>;

}  // namespace scalecalc::tensor
