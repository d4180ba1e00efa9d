#include "tensor/cpu/product.hpp"

namespace scalecalc::tensor {

template <class Real>
void multiply(MatrixMap<Real> result, const Factor<Real>& a, const Factor<Real>& b, Real scale,
              bool adds) {
  if (!adds) result.setZero();
  if (a.transposed) {
    result.noalias() += scale * a.entries.transpose() * b.entries;
  } else if (b.transposed) {
    result.noalias() += scale * a.entries * b.entries.transpose();
  } else {
    result.noalias() += scale * a.entries * b.entries;
  }
}

template void multiply(MatrixMap<float>, const Factor<float>&, const Factor<float>&, float, bool);
template void multiply(MatrixMap<double>, const Factor<double>&, const Factor<double>&, double,
                       bool);

}  // namespace scalecalc::tensor
