#include <algorithm>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/scratch.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::relative_forward(const BiasShape& s, const std::int32_t* buckets,
                                       const Real* table, Real* y) {
  const std::int64_t entries = s.tokens * s.keys;
  for_tiles(threads_, s.sequences * s.heads, [&](std::int64_t tile) {
    const Real* const of_head = table + tile % s.heads;
    Real* const out = y + tile * entries;
    for (std::int64_t i = 0; i < entries; ++i) out[i] = of_head[buckets[i] * s.heads];
  });
}

// Tiles of heads: a column of the table belongs to one thread.
template <class Real>
void CpuDevice<Real>::relative_backward(const BiasShape& s, const std::int32_t* buckets,
                                        const Real* dy, Real* dtable) {
  const std::int64_t entries = s.tokens * s.keys;
  for_tiles(threads_, s.heads, [&](std::int64_t head) {
    double* const sums = scratch<double>(s.buckets);
    std::fill(sums, sums + s.buckets, 0.0);
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
      const Real* const of_head = dy + (sequence * s.heads + head) * entries;
      for (std::int64_t i = 0; i < entries; ++i)
        sums[buckets[i]] += static_cast<double>(of_head[i]);
    }
    for (std::int64_t b = 0; b < s.buckets; ++b)
      dtable[b * s.heads + head] += static_cast<Real>(sums[b]);
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
