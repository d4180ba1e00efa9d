#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/lanes.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/scratch.hpp"

namespace scalecalc::tensor {
namespace {

/// The sum over 0 .. count, by pieces whose sums are added in order.
template <class Term>
double total(int threads, std::int64_t count, const Term& term) {
  const std::int64_t tiles = pieces(count, kEntries);
  double* parts = scratch<double>(tiles);
  for_ranges(threads, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    parts[begin / kEntries] = sum_in_lanes(begin, end, term);
  });
  double sum = 0.0;
  for (std::int64_t i = 0; i < tiles; ++i) sum += parts[i];
  return sum;
}

}  // namespace

template <class Real>
double CpuDevice<Real>::dot(std::int64_t count, const Real* a, const Real* b) {
  return total(threads_, count, [=](std::int64_t i) {
    return static_cast<double>(a[i]) * static_cast<double>(b[i]);
  });
}

template <class Real>
double CpuDevice<Real>::squared_error_forward(std::int64_t count, const Real* y,
                                              const Real* target) {
  return total(threads_, count, [=](std::int64_t i) {
    const double error = static_cast<double>(y[i]) - static_cast<double>(target[i]);
    return 0.5 * error * error;
  });
}

template <class Real>
void CpuDevice<Real>::squared_error_backward(std::int64_t count, const Real* y, const Real* target,
                                             double scale, Into<Real> dy) {
  const Real factor = static_cast<Real>(scale);
  for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dy.data[i] = dy(i, factor * (y[i] - target[i]));
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
