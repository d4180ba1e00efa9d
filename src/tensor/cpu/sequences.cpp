#include <array>
#include <limits>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/lanes.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/scratch.hpp"

namespace scalecalc::tensor {
namespace {

constexpr std::int64_t kColumns = 256;

/// Of some features of one sequence: sums of x, of x^2, and of x_t x_s over t != s.
struct Sums {
  double first = 0.0, second = 0.0, cross = 0.0;
};

template <class Real>
Sums sums_of(const Real* x, std::int64_t tokens, std::int64_t stride, std::int64_t columns) {
  std::array<double, kColumns> sum{}, square{};
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const double value = static_cast<double>(x[t * stride + i]);
      sum[i] += value;
      square[i] += value * value;
    }
  }
  Sums result;
  result.first = sum_in_lanes(0, columns, [&](std::int64_t i) { return sum[i]; });
  result.second = sum_in_lanes(0, columns, [&](std::int64_t i) { return square[i]; });
  result.cross =
      sum_in_lanes(0, columns, [&](std::int64_t i) { return sum[i] * sum[i] - square[i]; });
  return result;
}

}  // namespace

template <class Real>
Moments CpuDevice<Real>::moments(const SequenceShape& s, const Real* x) {
  const std::int64_t across = pieces(s.width, kColumns);
  const std::int64_t tiles = s.sequences * across;
  Sums* parts = scratch<Sums>(tiles);
  for_tiles(threads_, tiles, [&](std::int64_t tile) {
    const std::int64_t sequence = tile / across, column = tile % across * kColumns;
    parts[tile] = sums_of(x + sequence * s.tokens * s.width + column, s.tokens, s.width,
                          std::min(kColumns, s.width - column));
  });
  Sums all;
  for (std::int64_t i = 0; i < tiles; ++i) {
    all.first += parts[i].first;
    all.second += parts[i].second;
    all.cross += parts[i].cross;
  }
  const double tokens = static_cast<double>(s.tokens);
  const double entries = static_cast<double>(s.sequences) * tokens * static_cast<double>(s.width);
  const double cross = s.tokens > 1 ? all.cross / (entries * (tokens - 1.0))
                                    : std::numeric_limits<double>::quiet_NaN();
  return {all.first / entries, all.second / entries, cross};
}

template <class Real>
void CpuDevice<Real>::pool_forward(const SequenceShape& s, const Real* x, Real* y) {
  const Real share = static_cast<Real>(1.0 / static_cast<double>(s.tokens));
  for_tiles(threads_, s.sequences, [&](std::int64_t sequence) {
    Real* out = y + sequence * s.width;
    std::fill(out, out + s.width, Real(0));
    for (std::int64_t t = sequence * s.tokens; t < (sequence + 1) * s.tokens; ++t) {
      for (std::int64_t i = 0; i < s.width; ++i) out[i] += share * x[t * s.width + i];
    }
  });
}

template <class Real>
void CpuDevice<Real>::pool_backward(const SequenceShape& s, const Real* dy, Into<Real> dx) {
  const Real share = static_cast<Real>(1.0 / static_cast<double>(s.tokens));
  for_tiles(threads_, s.sequences, [&](std::int64_t sequence) {
    const Real* dout = dy + sequence * s.width;
    for (std::int64_t t = sequence * s.tokens; t < (sequence + 1) * s.tokens; ++t) {
      for (std::int64_t i = 0; i < s.width; ++i) {
        dx.data[t * s.width + i] = dx(t * s.width + i, share * dout[i]);
      }
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
