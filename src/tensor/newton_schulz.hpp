#pragma once

#include "tensor/tensor.hpp"

namespace scalecalc::tensor {

/// Muon's orthogonalisation (Jordan et al. 2024): X = m/|m|, then X = a X + (b A + c A^2) X with
/// A = X X^T, which moves every singular value that is not tiny to 0.7 .. 1.2.
template <class Real>
class NewtonSchulz {
 public:
  /// Room for matrices up to these sizes; min(rows, columns) is at most `inner`.
  NewtonSchulz(const std::shared_ptr<Device<Real>>& device, std::int64_t entries,
               std::int64_t inner);

  /// Overwrites `matrix`; the result lies there or in a buffer of this object, until the next call.
  /// Zero stays zero.
  Real* operator()(std::int64_t rows, std::int64_t columns, Real* matrix, int steps);
  std::size_t bytes() const { return other_.bytes() + 3 * gram_.bytes(); }

 private:
  std::shared_ptr<Device<Real>> device_;
  Tensor<Real> other_, gram_, square_, polynomial_;
};
extern template class NewtonSchulz<float>;
extern template class NewtonSchulz<double>;

}  // namespace scalecalc::tensor
