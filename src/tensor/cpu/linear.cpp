#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/matrix.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {
namespace {

/// body(row, rows, column, columns) for each tile of a rows x columns result.
template <class Body>
void for_blocks(int threads, std::int64_t rows, std::int64_t columns, const Body& body) {
  constexpr std::int64_t kTile = 256;
  const std::int64_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
  for_tiles(threads, across * down, [&](std::int64_t tile) {
    const std::int64_t row = tile / across * kTile, column = tile % across * kTile;
    body(row, std::min(kTile, rows - row), column, std::min(kTile, columns - column));
  });
}

}  // namespace

template <class Real>
void CpuDevice<Real>::linear_forward(const LinearShape& s, const Real* x, const Real* w, Real* y) {
  const auto X = view(x, s.tokens, s.fan_in), W = view(w, s.fan_in, s.fan_out);
  auto Y = view(y, s.tokens, s.fan_out);
  for_blocks(threads_, s.tokens, s.fan_out,
             [&](std::int64_t r, std::int64_t rows, std::int64_t c, std::int64_t columns) {
               Y.block(r, c, rows, columns).noalias() =
                   X.middleRows(r, rows) * W.middleCols(c, columns);
             });
}

template <class Real>
void CpuDevice<Real>::linear_backward_input(const LinearShape& s, const Real* dy, const Real* w,
                                            Real* dx) {
  const auto DY = view(dy, s.tokens, s.fan_out), W = view(w, s.fan_in, s.fan_out);
  auto DX = view(dx, s.tokens, s.fan_in);
  for_blocks(threads_, s.tokens, s.fan_in,
             [&](std::int64_t r, std::int64_t rows, std::int64_t c, std::int64_t columns) {
               DX.block(r, c, rows, columns).noalias() +=
                   DY.middleRows(r, rows) * W.middleRows(c, columns).transpose();
             });
}

template <class Real>
void CpuDevice<Real>::linear_backward_weight(const LinearShape& s, const Real* x, const Real* dy,
                                             Real* dw) {
  const auto X = view(x, s.tokens, s.fan_in), DY = view(dy, s.tokens, s.fan_out);
  auto DW = view(dw, s.fan_in, s.fan_out);
  for_blocks(threads_, s.fan_in, s.fan_out,
             [&](std::int64_t r, std::int64_t rows, std::int64_t c, std::int64_t columns) {
               DW.block(r, c, rows, columns).noalias() +=
                   X.middleCols(r, rows).transpose() * DY.middleCols(c, columns);
             });
}

template <class Real>
void CpuDevice<Real>::bias_forward(std::int64_t tokens, std::int64_t width, const Real* b,
                                   Real* y) {
  for_ranges(threads_, tokens, rows_per_tile(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t i = 0; i < width; ++i) y[t * width + i] += b[i];
    }
  });
}

template <class Real>
void CpuDevice<Real>::bias_backward(std::int64_t tokens, std::int64_t width, const Real* dy,
                                    Real* db) {
  constexpr std::int64_t kColumns = 256;
  for_ranges(threads_, width, kColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t i = begin; i < end; ++i) db[i] += dy[t * width + i];
    }
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define SCALECALC_INSTANTIATE(Real)                                                            \
  template void CpuDevice<Real>::linear_forward(const LinearShape&, const Real*, const Real*,  \
                                                Real*);                                        \
  template void CpuDevice<Real>::linear_backward_input(const LinearShape&, const Real*,        \
                                                       const Real*, Real*);                    \
  template void CpuDevice<Real>::linear_backward_weight(const LinearShape&, const Real*,       \
                                                        const Real*, Real*);                   \
  template void CpuDevice<Real>::bias_forward(std::int64_t, std::int64_t, const Real*, Real*); \
  template void CpuDevice<Real>::bias_backward(std::int64_t, std::int64_t, const Real*, Real*);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)

}  // namespace scalecalc::tensor
