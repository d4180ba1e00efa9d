#include "tensor/class_rule.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/matrix.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/scratch.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::embedding_forward(std::int64_t tokens, std::int64_t width,
                                        const std::int32_t* ids, const Real* table, Real* y) {
  for_ranges(threads_, tokens, rows_per_tile(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const Real* row = table + static_cast<std::int64_t>(ids[t]) * width;
      std::copy(row, row + width, y + t * width);
    }
  });
}

// Tiles of columns: two tokens with the same id never meet in two threads.
template <class Real>
void CpuDevice<Real>::embedding_backward(std::int64_t tokens, std::int64_t width,
                                         const std::int32_t* ids, const Real* dy, Real* dtable) {
  constexpr std::int64_t kColumns = 64;
  for_ranges(threads_, width, kColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      Real* row = dtable + static_cast<std::int64_t>(ids[t]) * width;
      for (std::int64_t i = begin; i < end; ++i) row[i] += dy[t * width + i];
    }
  });
}

template <class Real>
double CpuDevice<Real>::cross_entropy_forward(std::int64_t tokens, std::int64_t classes,
                                              const Real* logits, const std::int32_t* targets,
                                              Real* probabilities) {
  double* losses = scratch<double>(tokens);
  for_ranges(threads_, tokens, rows_per_tile(classes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const ConstRowMap<Real> in(logits + t * classes, classes);
      RowMap<Real> p(probabilities + t * classes, classes);
      const Real top = in.maxCoeff();
      p = (in - top).exp();
      const Real sum = p.sum();
      p /= sum;
      losses[t] = class_loss(sum, in[targets[t]], top);
    }
  });
  double total = 0.0;
  for (std::int64_t t = 0; t < tokens; ++t) total += losses[t];
  return total;
}

template <class Real>
void CpuDevice<Real>::cross_entropy_backward(std::int64_t tokens, std::int64_t classes,
                                             const Real* probabilities, const std::int32_t* targets,
                                             double scale, Into<Real> dlogits) {
  const Real factor = static_cast<Real>(scale);
  for_ranges(threads_, tokens, rows_per_tile(classes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t row = t * classes;
      for (std::int64_t c = 0; c < classes; ++c) {
        const Real hit = c == targets[t] ? Real(1) : Real(0);
        dlogits.data[row + c] =
            dlogits(row + c, class_gradient(factor, probabilities[row + c], hit));
      }
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
