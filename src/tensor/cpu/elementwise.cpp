#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/functors.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::activation_forward(ActivationKind kind, std::int64_t count, const Real* x,
                                         Real* y) {
  with_functor<Real>(kind, [&](auto phi) {
    for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = phi.value(x[i]);
    });
  });
}

template <class Real>
void CpuDevice<Real>::activation_backward(ActivationKind kind, std::int64_t count, const Real* x,
                                          const Real* dy, Into<Real> dx) {
  with_functor<Real>(kind, [&](auto phi) {
    for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dx.data[i] = dx(i, phi.slope(x[i]) * dy[i]);
    });
  });
}

template <class Real>
void CpuDevice<Real>::multiply_forward(std::int64_t count, const Real* a, const Real* b, Real* y) {
  for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = a[i] * b[i];
  });
}

template <class Real>
void CpuDevice<Real>::multiply_backward(std::int64_t count, const Real* a, const Real* b,
                                        const Real* dy, Into<Real> da, Into<Real> db) {
  const auto into = [&](const Real* other, Into<Real> gradient) {
    for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) gradient.data[i] = gradient(i, other[i] * dy[i]);
    });
  };
  if (da) into(b, da);
  if (db) into(a, db);
}

template <class Real>
void CpuDevice<Real>::blend_forward(std::int64_t count, double a, const Real* x, double b,
                                    const Real* f, Real* y) {
  const Real skip = static_cast<Real>(a), branch = static_cast<Real>(b);
  for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = skip * x[i] + branch * f[i];
  });
}

template <class Real>
void CpuDevice<Real>::scaled_backward(std::int64_t count, double a, const Real* dy, Into<Real> dx) {
  const Real factor = static_cast<Real>(a);
  for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dx.data[i] = dx(i, factor * dy[i]);
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
