#pragma once

#include <string>

#include "tensor/cuda/blas.hpp"
#include "tensor/cuda/plugin.hpp"
#include "tensor/cuda/point_kernels.hpp"
#include "tensor/cuda/pool.hpp"
#include "tensor/cuda/queue.hpp"
#include "tensor/device.hpp"

namespace scalecalc::tensor {

/// Kernels and cuBLAS on one stream of one CUDA device. Nothing waits but host() and what returns
/// a number. Sums have a fixed order, so that the same calls give the same bits. Not thread-safe:
/// one device serves one Passes.
template <class Real>
class CudaDevice final : public Device<Real> {
 public:
  /// Throws Error(fault).
  CudaDevice(const CudaChoice& choice, ActivationSource source)
      : queue_(choice.index, choice.graphs),
        buffers_(queue_),
        staging_(queue_),
        blas_(buffers_, choice.tf32),
        functions_(queue_, source) {}
  ~CudaDevice() override { queue_.forget(); }

  void* allocate(std::size_t bytes) override { return buffers_.allocate(bytes); }
  void release(void* data, std::size_t bytes) noexcept override { buffers_.release(data, bytes); }
  void upload(const void* host, void* data, std::size_t bytes) override;
  void zero(void* data, std::size_t bytes) override;
  const void* host(const void* data, std::size_t bytes) override {
    return staging_.download(data, bytes);
  }
  std::size_t bytes_in_use() const override { return buffers_.in_use(); }
  std::size_t bytes_held() const override { return buffers_.held(); }
  double bytes_there() const override { return buffers_.there(); }
  void submit() override { queue_.submit(); }
  std::string remark() const override;

  std::string name() const override { return queue_.device(); }
  void draw(const Draw& draw, std::int64_t count, Real* out) override;
  void fill(std::int64_t count, Real value, Real* out) override;
  void add_from_host(std::int64_t count, double scale, const Real* x, Real* y) override;
  void linear_forward(const LinearShape& shape, const Real* x, const Real* w, const Real* bias,
                      Real* y) override;
  void linear_activation_forward(const LinearShape& shape, const Real* x, const Real* w,
                                 const Real* bias, ActivationKind kind, Real* y,
                                 Real* activated) override;
  void linear_backward_input(const LinearShape& shape, const Real* dy, const Real* w,
                             Into<Real> dx) override;
  void linear_backward_weight(const LinearShape& shape, const Real* x, const Real* dy,
                              Into<Real> dw) override;
  void bias_forward(std::int64_t tokens, std::int64_t width, const Real* b, Real* y) override;
  void bias_backward(std::int64_t tokens, std::int64_t width, const Real* dy,
                     Into<Real> db) override;
  void activation_forward(ActivationKind kind, std::int64_t count, const Real* x, Real* y) override;
  void activation_backward(ActivationKind kind, std::int64_t count, const Real* x, const Real* dy,
                           Into<Real> dx) override;
  void function_forward(const Activation& phi, std::int64_t count, const Real* x, Real* y) override;
  void function_backward(const Activation& phi, std::int64_t count, const Real* x, const Real* dy,
                         Into<Real> dx) override;
  void multiply_forward(std::int64_t count, const Real* a, const Real* b, Real* y) override;
  void multiply_backward(std::int64_t count, const Real* a, const Real* b, const Real* dy,
                         Into<Real> da, Into<Real> db) override;
  void dropout_forward(const Stream& mask, double rate, std::int64_t count, const Real* x,
                       Real* y) override;
  void dropout_backward(const Stream& mask, double rate, std::int64_t count, const Real* dy,
                        Into<Real> dx) override;
  void blend_forward(std::int64_t count, double a, const Real* x, double b, const Real* f,
                     Real* y) override;
  void scaled_backward(std::int64_t count, double a, const Real* dy, Into<Real> dx) override;
  void norm_forward(const NormShape& shape, const Real* x, Real* y, Real* inverse) override;
  void norm_backward(const NormShape& shape, const Real* y, const Real* inverse, const Real* dy,
                     Into<Real> dx) override;
  void blend_norm_forward(const NormShape& shape, double a, const Real* x, double b, const Real* f,
                          Real* y, Real* inverse) override;
  void blend_norm_backward(const NormShape& shape, const Real* y, const Real* inverse,
                           const Real* dy, double a, Into<Real> dx, double b,
                           Into<Real> df) override;
  void column_norm_forward(const ColumnNormShape& shape, const Real* x, Real* y,
                           Real* inverse) override;
  void column_norm_backward(const ColumnNormShape& shape, const Real* y, const Real* inverse,
                            const Real* dy, Into<Real> dx) override;
  void affine_forward(std::int64_t tokens, std::int64_t width, const Real* x, const Real* gain,
                      const Real* shift, Real* y) override;
  void affine_backward(std::int64_t tokens, std::int64_t width, const Real* x, const Real* gain,
                       const Real* dy, Into<Real> dx, Into<Real> dgain, Into<Real> dshift) override;
  void attention_forward(const AttentionShape& shape, const Real* q, const Real* k, const Real* v,
                         Real* log_sums, Real* mix) override;
  void attention_backward(const AttentionShape& shape, const Real* q, const Real* k, const Real* v,
                          const Real* log_sums, const Real* mix, const Real* dmix, Into<Real> dq,
                          Into<Real> dk, Into<Real> dv) override;
  void scores_forward(const AttentionShape& shape, const Real* q, const Real* k, const Real* before,
                      Real* scores) override;
  void scores_backward(const AttentionShape& shape, const Real* q, const Real* k,
                       const Real* dscores, Into<Real> dq, Into<Real> dk) override;
  void mix_forward(const AttentionShape& shape, const Real* scores, const Real* v, Real* log_sums,
                   Real* mix) override;
  void mix_backward(const AttentionShape& shape, const Real* scores, const Real* v,
                    const Real* log_sums, const Real* mix, const Real* dmix, Into<Real> dscores,
                    Into<Real> dv) override;
  void conv_forward(const ConvShape& shape, const Real* x, const Real* w, Real* y) override;
  void conv_backward_input(const ConvShape& shape, const Real* dy, const Real* w,
                           Into<Real> dx) override;
  void conv_backward_weight(const ConvShape& shape, const Real* x, const Real* dy,
                            Into<Real> dw) override;
  void pool_forward(const SequenceShape& shape, const Real* x, Real* y) override;
  void pool_backward(const SequenceShape& shape, const Real* dy, Into<Real> dx) override;
  void embedding_forward(std::int64_t tokens, std::int64_t width, const std::int32_t* ids,
                         const Real* table, Real* y) override;
  void embedding_backward(std::int64_t tokens, std::int64_t width, const std::int32_t* ids,
                          const Real* dy, Real* dtable) override;
  double cross_entropy_forward(std::int64_t tokens, std::int64_t classes, const Real* logits,
                               const std::int32_t* targets, Real* probabilities) override;
  void cross_entropy_backward(std::int64_t tokens, std::int64_t classes, const Real* probabilities,
                              const std::int32_t* targets, double scale,
                              Into<Real> dlogits) override;
  double squared_error_forward(std::int64_t count, const Real* y, const Real* target) override;
  void squared_error_backward(std::int64_t count, const Real* y, const Real* target, double scale,
                              Into<Real> dy) override;
  double dot(std::int64_t count, const Real* a, const Real* b) override;
  Moments moments(const SequenceShape& shape, const Real* x) override;
  void update(const ElementUpdate& update, std::int64_t count, Real* theta, Real* gradient,
              Real* first, Real* second) override;
  void average_square_sums(std::int64_t rows, std::int64_t columns, double beta, double eps,
                           const Real* x, Real* by_row, Real* by_column) override;
  void divide_by_factored_root(std::int64_t rows, std::int64_t columns, const Real* by_row,
                               const Real* by_column, double total, Real* x) override;

 private:
  cuda::Queue queue_;
  cuda::Pool buffers_;
  cuda::Staging staging_;
  cuda::Blas blas_;
  cuda::PointKernels functions_;
};

}  // namespace scalecalc::tensor
