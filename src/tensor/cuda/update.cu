#include "tensor/cuda/columns.cuh"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/reduce.cuh"
#include "tensor/element_update.hpp"
#include "tensor/factored_average.hpp"

namespace scalecalc::tensor {
namespace {

template <ElementRule rule, class Real>
struct UpdateEntry {
  ElementFactors<Real> factors;
  Real *theta, *gradient, *first, *second;
  SCALECALC_DEVICE void operator()(std::int64_t i) const {
    update_entry<rule>(factors, i, theta, gradient, first, second);
  }
};

/// One block a row.
template <class Real>
SCALECALC_KERNEL row_squares_kernel(std::int64_t columns, double beta, double eps, const Real* x,
                                    Real* by_row) {
  const Real* row = x + blockIdx.x * columns;
  double sum = 0.0;
  for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  }
  sum = cuda::block_sum(sum);
  if (threadIdx.x != 0) return;
  Real& kept = by_row[blockIdx.x];
  kept = averaged_squares(beta, kept, sum, static_cast<double>(columns), eps);
}

template <class Real>
struct Squares {
  const Real* x;
  SCALECALC_DEVICE void operator()(std::int64_t at, double (&sums)[1]) const {
    sums[0] += static_cast<double>(x[at]) * static_cast<double>(x[at]);
  }
};

template <class Real>
struct AverageColumns {
  double beta, rows, eps;
  const double* sums;
  Real* by_column;
  SCALECALC_DEVICE void operator()(std::int64_t i) const {
    by_column[i] = averaged_squares(beta, by_column[i], sums[i], rows, eps);
  }
};

template <class Real>
struct DivideByRoot {
  std::int64_t columns;
  const Real *by_row, *by_column;
  double total;
  Real* x;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    Real& entry = x[row * columns + column];
    entry = divided_by_root(entry, by_column[column], row_share(total, by_row[row]));
  }
};

}  // namespace

template <class Real>
void CudaDevice<Real>::update(const ElementUpdate& update, std::int64_t count, Real* theta,
                              Real* gradient, Real* first, Real* second) {
  const ElementFactors<Real> factors(update);
  with_rule(update.rule, [&]<ElementRule rule>() {
    cuda::for_entries(queue_, "update", count,
                      UpdateEntry<rule, Real>{factors, theta, gradient, first, second});
  });
}

template <class Real>
void CudaDevice<Real>::average_square_sums(std::int64_t rows, std::int64_t columns, double beta,
                                           double eps, const Real* x, Real* by_row,
                                           Real* by_column) {
  const char* const operation = "average_square_sums";
  cuda::launch(queue_, operation, dim3(static_cast<unsigned>(rows)),
               dim3(cuda::row_threads(columns)), row_squares_kernel<Real>, columns, beta, eps, x,
               by_row);
  const cuda::Scratch<double> sums(buffers_, columns);
  cuda::sum_columns(buffers_, operation, rows, columns, Squares<Real>{x},
                    cuda::Columns<double, 1>{{{sums.data(), false}}});
  cuda::for_entries(
      queue_, operation, columns,
      AverageColumns<Real>{beta, static_cast<double>(rows), eps, sums.data(), by_column});
}

template <class Real>
void CudaDevice<Real>::divide_by_factored_root(std::int64_t rows, std::int64_t columns,
                                               const Real* by_row, const Real* by_column,
                                               double total, Real* x) {
  cuda::for_rows(queue_, "divide_by_factored_root", rows, columns,
                 DivideByRoot<Real>{columns, by_row, by_column, total, x});
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
