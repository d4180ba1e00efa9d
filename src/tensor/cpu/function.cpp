#include <algorithm>
#include <array>

#include "scalecalc/activation.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {
namespace {

constexpr std::int64_t kChunk = 512;
using Chunk = std::array<double, kChunk>;

/// body(first, count, x) for each piece of x in double.
template <class Real, class Body>
void for_chunks(int threads, std::int64_t count, const Real* x, const Body& body) {
  for_ranges(threads, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    Chunk values;
    for (std::int64_t i = begin; i < end; i += kChunk) {
      const std::int64_t n = std::min(kChunk, end - i);
      std::copy(x + i, x + i + n, values.begin());
      body(i, n, values);
    }
  });
}

}  // namespace

template <class Real>
void CpuDevice<Real>::function_forward(const Activation& phi, std::int64_t count, const Real* x,
                                       Real* y) {
  for_chunks(threads_, count, x, [&](std::int64_t first, std::int64_t n, Chunk& values) {
    phi.evaluate(values.data(), values.data(), nullptr, static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) y[first + i] = static_cast<Real>(values[i]);
  });
}

template <class Real>
void CpuDevice<Real>::function_backward(const Activation& phi, std::int64_t count, const Real* x,
                                        const Real* dy, Into<Real> dx) {
  for_chunks(threads_, count, x, [&](std::int64_t first, std::int64_t n, Chunk& values) {
    Chunk slopes;
    phi.evaluate(values.data(), values.data(), slopes.data(), static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      dx.data[first + i] = dx(first + i, static_cast<Real>(slopes[i]) * dy[first + i]);
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
