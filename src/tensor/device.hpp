#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/draw.hpp"

/// The seam between the passes and the machine they run on. Plain pointers into the device's memory
/// and sizes, no library types, so that a CUDA file can include it. Matrices are row-major and
/// contiguous; activations are (tokens, features), a token being one position of one sequence.
namespace scalecalc::tensor {

enum class ActivationKind { identity, relu, gelu, tanh, sigmoid, selu };

struct LinearShape {
  std::int64_t tokens, fan_in, fan_out;
};
struct NormShape {
  std::int64_t tokens, width;
  bool centred;  ///< layer norm subtracts the mean, rms norm does not
  double eps;
};
/// Column h * head_width + i of q, k, v and the mix is feature i of head h. The weights are
/// (sequences * heads * tokens, tokens); `tokens` is the length of one sequence.
struct AttentionShape {
  std::int64_t sequences, tokens, heads, head_width;
  bool causal;
  double scale;
  std::int64_t width() const { return heads * head_width; }
  std::int64_t weight_rows() const { return sequences * heads * tokens; }
};

class Memory {
 public:
  virtual ~Memory() = default;
  /// Not initialised, aligned for vectors. Throws Error(fault) when there is none left.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data, std::size_t bytes) noexcept = 0;
  virtual void upload(const void* host, void* data, std::size_t bytes) = 0;
  virtual void zero(void* data, std::size_t bytes) = 0;
  /// The values where the host can read them, valid until the next call.
  virtual const void* host(const void* data, std::size_t bytes) = 0;
  /// Handed out now, and held from the system (the first and what is kept for reuse).
  virtual std::size_t bytes_in_use() const = 0;
  virtual std::size_t bytes_held() const = 0;
};

/// Every primitive. A forward writes its result; a backward adds (+=) to the gradients it is given.
template <class Real>
class Device : public Memory {
 public:
  virtual std::string name() const = 0;

  virtual void draw(const Draw& draw, std::int64_t count, Real* out) = 0;
  virtual void fill(std::int64_t count, Real value, Real* out) = 0;
  /// y += scale * x, with x in the host's memory.
  virtual void add_from_host(std::int64_t count, double scale, const Real* x, Real* y) = 0;

  /// y = x w.
  virtual void linear_forward(const LinearShape& shape, const Real* x, const Real* w, Real* y) = 0;
  /// dx += dy w^T.
  virtual void linear_backward_input(const LinearShape& shape, const Real* dy, const Real* w,
                                     Real* dx) = 0;
  /// dw += x^T dy.
  virtual void linear_backward_weight(const LinearShape& shape, const Real* x, const Real* dy,
                                      Real* dw) = 0;
  /// y += b, in every row.
  virtual void bias_forward(std::int64_t tokens, std::int64_t width, const Real* b, Real* y) = 0;
  virtual void bias_backward(std::int64_t tokens, std::int64_t width, const Real* dy, Real* db) = 0;

  /// y = phi(x).
  virtual void activation_forward(ActivationKind kind, std::int64_t count, const Real* x,
                                  Real* y) = 0;
  virtual void activation_backward(ActivationKind kind, std::int64_t count, const Real* x,
                                   const Real* dy, Real* dx) = 0;

  /// y = a x + b f.
  virtual void blend_forward(std::int64_t count, double a, const Real* x, double b, const Real* f,
                             Real* y) = 0;
  /// dx += a dy.
  virtual void scaled_backward(std::int64_t count, double a, const Real* dy, Real* dx) = 0;

  /// y = (x - mean) / sqrt(variance + eps) by row, without the mean for rms norm; `inverse` keeps
  /// 1/sqrt(variance + eps). A constant row under eps = 0 gives 0, the limit of small eps.
  virtual void norm_forward(const NormShape& shape, const Real* x, Real* y, Real* inverse) = 0;
  virtual void norm_backward(const NormShape& shape, const Real* y, const Real* inverse,
                             const Real* dy, Real* dx) = 0;
  /// y = gain x + shift, by column.
  virtual void affine_forward(std::int64_t tokens, std::int64_t width, const Real* x,
                              const Real* gain, const Real* shift, Real* y) = 0;
  /// dx may be null.
  virtual void affine_backward(std::int64_t tokens, std::int64_t width, const Real* x,
                               const Real* gain, const Real* dy, Real* dx, Real* dgain,
                               Real* dshift) = 0;

  /// weights = softmax(scale q k^T) by row, mix = weights v, for each head of each sequence.
  virtual void attention_forward(const AttentionShape& shape, const Real* q, const Real* k,
                                 const Real* v, Real* weights, Real* mix) = 0;
  virtual void attention_backward(const AttentionShape& shape, const Real* q, const Real* k,
                                  const Real* v, const Real* weights, const Real* dmix, Real* dq,
                                  Real* dk, Real* dv) = 0;

  /// y[t] = table[ids[t]].
  virtual void embedding_forward(std::int64_t tokens, std::int64_t width, const std::int32_t* ids,
                                 const Real* table, Real* y) = 0;
  virtual void embedding_backward(std::int64_t tokens, std::int64_t width, const std::int32_t* ids,
                                  const Real* dy, Real* dtable) = 0;

  /// Sum over tokens of -ln softmax(logits)[target]; `probabilities` keeps the softmax.
  virtual double cross_entropy_forward(std::int64_t tokens, std::int64_t classes,
                                       const Real* logits, const std::int32_t* targets,
                                       Real* probabilities) = 0;
  /// dlogits += scale (probabilities - onehot(target)).
  virtual void cross_entropy_backward(std::int64_t tokens, std::int64_t classes,
                                      const Real* probabilities, const std::int32_t* targets,
                                      double scale, Real* dlogits) = 0;
};

/// "cpu", "cuda", or "auto" for the best one there is. Throws Error(input) for another name or a
/// thread count that cannot be, Error(fault) for a device that is not there.
template <class Real>
std::shared_ptr<Device<Real>> make_device(const std::string& name, int threads);
extern template std::shared_ptr<Device<float>> make_device<float>(const std::string&, int);
extern template std::shared_ptr<Device<double>> make_device<double>(const std::string&, int);

}  // namespace scalecalc::tensor
