#include <algorithm>
#include <array>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/dropout_rule.hpp"

namespace scalecalc::tensor {
namespace {

/// body(i, factor) for every entry; the mask is drawn again wherever it is needed, never kept.
template <class Real, class Body>
void for_masked(int threads, const Stream& mask, double rate, std::int64_t shared,
                std::int64_t count, const Body& body) {
  constexpr std::int64_t kChunk = 512;
  const Real kept = kept_factor<Real>(rate);
  if (shared > 1) {
    for_ranges(threads, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t group = i / shared, last = std::min((group + 1) * shared, end);
        const Real factor =
            dropout_factor(uniform_value(mask, static_cast<std::uint64_t>(group)), rate, kept);
        for (; i < last; ++i) body(i, factor);
      }
    });
    return;
  }
  for_ranges(threads, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, kChunk> uniform;
    for (std::int64_t i = begin; i < end; i += kChunk) {
      const std::int64_t n = std::min(kChunk, end - i);
      fill_uniform(mask, static_cast<std::uint64_t>(i), n, uniform.data());
      for (std::int64_t j = 0; j < n; ++j) body(i + j, dropout_factor(uniform[j], rate, kept));
    }
  });
}

}  // namespace

template <class Real>
void CpuDevice<Real>::dropout_forward(const Stream& mask, double rate, std::int64_t shared,
                                      std::int64_t count, const Real* x, Real* y) {
  for_masked<Real>(threads_, mask, rate, shared, count,
                   [=](std::int64_t i, Real factor) { y[i] = factor * x[i]; });
}

template <class Real>
void CpuDevice<Real>::dropout_backward(const Stream& mask, double rate, std::int64_t shared,
                                       std::int64_t count, const Real* dy, Into<Real> dx) {
  for_masked<Real>(threads_, mask, rate, shared, count,
                   [=](std::int64_t i, Real factor) { dx.data[i] = dx(i, factor * dy[i]); });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
