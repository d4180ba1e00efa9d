#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/matrix.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/scratch.hpp"
#include "tensor/norm_rule.hpp"

namespace scalecalc::tensor {
namespace {

/// Takes its mean off a row, a constant one to exactly 0, and returns its variance.
template <class Real>
Real centre(RowMap<Real> row) {
  const Real mean = row.mean();
  row -= mean;
  const Real variance = row.square().mean();
  if (!is_rounding(variance, mean, row.size())) return variance;
  const Real first = row[0];
  row -= first;
  row -= row.mean();
  return row.square().mean();
}

/// Normalises a row in place and returns what it was multiplied by.
template <class Real>
Real normalise_row(const NormShape& s, RowMap<Real> row) {
  const Real square = s.centred ? centre(row) : row.square().mean();
  const Real factor = norm_factor(square + static_cast<Real>(s.eps));
  row *= factor;
  return factor;
}

/// body(place in the matrix, gradient) for each entry of row t.
template <class Real, class Body>
void row_gradient(const NormShape& s, std::int64_t t, const Real* y, const Real* inverse,
                  const Real* dy, const Body& body) {
  const ConstRowMap<Real> out(y + t * s.width, s.width), dout(dy + t * s.width, s.width);
  const Real along = (dout * out).mean();
  const Real mean = s.centred ? dout.mean() : Real(0), factor = inverse[t];
  for (std::int64_t i = t * s.width; i < (t + 1) * s.width; ++i) {
    body(i, norm_gradient(dy[i], mean, y[i], along, factor));
  }
}

/// Adds `row` to row t, or writes it there.
template <class Real, class Row>
void write_row(Into<Real> to, std::int64_t t, std::int64_t width, const Row& row) {
  RowMap<Real> at(to.data + t * width, width);
  if (to.adds) {
    at += row;
  } else {
    at = row;
  }
}

}  // namespace

template <class Real>
void CpuDevice<Real>::norm_forward(const NormShape& s, const Real* x, Real* y, Real* inverse) {
  for_rows(threads_, s.tokens, s.width, [&](std::int64_t t) {
    RowMap<Real> row(y + t * s.width, s.width);
    row = ConstRowMap<Real>(x + t * s.width, s.width);
    inverse[t] = normalise_row(s, row);
  });
}

template <class Real>
void CpuDevice<Real>::norm_backward(const NormShape& s, const Real* y, const Real* inverse,
                                    const Real* dy, Into<Real> dx) {
  for_rows(threads_, s.tokens, s.width, [&](std::int64_t t) {
    row_gradient(s, t, y, inverse, dy,
                 [=](std::int64_t at, Real value) { dx.data[at] = dx(at, value); });
  });
}

template <class Real>
void CpuDevice<Real>::blend_norm_forward(const NormShape& s, double a, const Real* x, double b,
                                         const Real* f, Real* y, Real* inverse) {
  const Real skip = static_cast<Real>(a), branch = static_cast<Real>(b);
  for_rows(threads_, s.tokens, s.width, [&](std::int64_t t) {
    RowMap<Real> row(y + t * s.width, s.width);
    row = skip * ConstRowMap<Real>(x + t * s.width, s.width) +
          branch * ConstRowMap<Real>(f + t * s.width, s.width);
    inverse[t] = normalise_row(s, row);
  });
}

template <class Real>
void CpuDevice<Real>::blend_norm_backward(const NormShape& s, const Real* y, const Real* inverse,
                                          const Real* dy, double a, Into<Real> dx, double b,
                                          Into<Real> df) {
  const Real skip = static_cast<Real>(a), branch = static_cast<Real>(b);
  for_rows(threads_, s.tokens, s.width, [&](std::int64_t t) {
    RowMap<Real> sum(scratch<Real>(s.width), s.width);
    row_gradient(s, t, y, inverse, dy,
                 [&](std::int64_t at, Real value) { sum[at - t * s.width] = value; });
    if (dx) write_row(dx, t, s.width, skip * sum);
    if (df) write_row(df, t, s.width, branch * sum);
  });
}

template <class Real>
void CpuDevice<Real>::affine_forward(std::int64_t tokens, std::int64_t width, const Real* x,
                                     const Real* gain, const Real* shift, Real* y) {
  for_rows(threads_, tokens, width, [&](std::int64_t t) {
    for (std::int64_t i = 0; i < width; ++i) {
      y[t * width + i] = gain[i] * x[t * width + i] + shift[i];
    }
  });
}

template <class Real>
void CpuDevice<Real>::affine_backward(std::int64_t tokens, std::int64_t width, const Real* x,
                                      const Real* gain, const Real* dy, Into<Real> dx,
                                      Into<Real> dgain, Into<Real> dshift) {
  constexpr std::int64_t kColumns = 64;
  for_ranges(threads_, width, kColumns, [&](std::int64_t begin, std::int64_t end) {
    for (const Into<Real>& sum : {dgain, dshift}) {
      if (!sum.adds) std::fill(sum.data + begin, sum.data + end, Real(0));
    }
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t row = t * width;
      for (std::int64_t i = begin; i < end; ++i) {
        dgain.data[i] += dy[row + i] * x[row + i];
        dshift.data[i] += dy[row + i];
      }
      if (!dx) continue;
      for (std::int64_t i = begin; i < end; ++i) {
        dx.data[row + i] = dx(row + i, gain[i] * dy[row + i]);
      }
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
