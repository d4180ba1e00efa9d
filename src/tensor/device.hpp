#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>

#include "tensor/draw.hpp"

/// The seam between the passes and the machine they run on. Plain pointers into the device's memory
/// and sizes, no library types, so that a CUDA file can include it. Matrices are row-major and
/// contiguous; activations are (tokens, features), a token being one position of one sequence.
namespace scalecalc {
class Activation;
}

namespace scalecalc::tensor {

struct ElementUpdate;
enum class ActivationKind { identity, relu, gelu, tanh, sigmoid, selu };

struct LinearShape {
  std::int64_t tokens, fan_in, fan_out;
};
struct NormShape {
  std::int64_t tokens, width;
  bool centred;  ///< layer norm subtracts the mean, rms norm does not
  double eps;
};
/// A norm of each feature over the rows of one group: a whole batch, or one sequence.
struct ColumnNormShape {
  std::int64_t groups, rows, width;
  bool centred;
  double eps;
};
/// Column h * head_width + i of q and the mix is feature i of head h; in k and v, head h reads the
/// columns of head h / (heads / kv_heads). The weights, (sequences * heads * tokens, keys), are
/// never kept: their rows are made again from ln of their sums. `tokens` and `keys` are those of
/// one sequence. A mask has no meaning where they differ.
struct AttentionShape {
  std::int64_t sequences, tokens, heads, head_width;
  bool causal;
  double scale;
  std::int64_t kv_heads = 0;  ///< 0: as many as heads
  std::int64_t keys = 0;      ///< 0: as many as tokens
  double dropout = 0.0;       ///< of the weights, its mask drawn from `mask`
  Stream mask = {};
  SCALECALC_HOST_DEVICE std::int64_t width() const { return heads * head_width; }
  SCALECALC_HOST_DEVICE std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  SCALECALC_HOST_DEVICE std::int64_t key_width() const { return key_heads() * head_width; }
  SCALECALC_HOST_DEVICE std::int64_t key_tokens() const { return keys == 0 ? tokens : keys; }
  SCALECALC_HOST_DEVICE std::int64_t weight_rows() const { return sequences * heads * tokens; }
};
/// Rows of x are the positions of one image after the other, row by row. The weight is (kernel^2
/// in_channels/groups, out_channels): row (tap_y * kernel + tap_x) * in_channels/groups + channel.
struct ConvShape {
  std::int64_t images, height, width, in_channels, out_channels, kernel, stride, padding, groups;
  SCALECALC_HOST_DEVICE std::int64_t out_height() const {
    return (height + 2 * padding - kernel) / stride + 1;
  }
  SCALECALC_HOST_DEVICE std::int64_t out_width() const {
    return (width + 2 * padding - kernel) / stride + 1;
  }
  SCALECALC_HOST_DEVICE std::int64_t positions() const { return height * width; }
  SCALECALC_HOST_DEVICE std::int64_t out_positions() const { return out_height() * out_width(); }
  SCALECALC_HOST_DEVICE std::int64_t group_in() const { return in_channels / groups; }
  SCALECALC_HOST_DEVICE std::int64_t group_out() const { return out_channels / groups; }
};
/// Rows are the tokens of one sequence after the other.
struct SequenceShape {
  std::int64_t sequences, tokens, width;
};
/// Where a backward puts a gradient: on top of what is there, or over what was never written. Null
/// where none is wanted.
template <class Real>
struct Into {
  Real* data = nullptr;
  bool adds = false;
  explicit operator bool() const { return data != nullptr; }
  Real operator()(std::int64_t i, Real value) const { return adds ? data[i] + value : value; }
};
/// Averages over everything: x, x^2, and x_t x_s of two tokens t != s of one sequence (NaN for one
/// token).
struct Moments {
  double mean, second, cross;
};

/// Small host objects of the passes: what is given back is handed out again, so that a second pass
/// takes nothing from the system. For one thread, as devices are.
using HostPool = std::pmr::unsynchronized_pool_resource;

class Memory {
 public:
  Memory() : pool_(std::make_shared<HostPool>()) {}
  virtual ~Memory() = default;
  const std::shared_ptr<HostPool>& pool() const { return pool_; }
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
  /// What passes may hold: all of a machine's memory, or what no one else has of a device's.
  virtual double bytes_there() const = 0;
  /// Begins what has been asked for and not begun.
  virtual void submit() {}
  /// What makes this device slower than it should be, in words; empty when nothing does.
  virtual std::string remark() const { return {}; }

 private:
  std::shared_ptr<HostPool> pool_;
};

/// Every primitive. A forward writes its result; a backward writes or adds, as each Into says.
template <class Real>
class Device : public Memory {
 public:
  virtual std::string name() const = 0;

  virtual void draw(const Draw& draw, std::int64_t count, Real* out) = 0;
  virtual void fill(std::int64_t count, Real value, Real* out) = 0;
  /// y += scale * x, with x in the host's memory.
  virtual void add_from_host(std::int64_t count, double scale, const Real* x, Real* y) = 0;

  /// y = x w + bias; `bias` may be null.
  virtual void linear_forward(const LinearShape& shape, const Real* x, const Real* w,
                              const Real* bias, Real* y) = 0;
  /// The same, and activated = phi(y).
  virtual void linear_activation_forward(const LinearShape& shape, const Real* x, const Real* w,
                                         const Real* bias, ActivationKind kind, Real* y,
                                         Real* activated) = 0;
  /// dx: dy w^T.
  virtual void linear_backward_input(const LinearShape& shape, const Real* dy, const Real* w,
                                     Into<Real> dx) = 0;
  /// dw: x^T dy.
  virtual void linear_backward_weight(const LinearShape& shape, const Real* x, const Real* dy,
                                      Into<Real> dw) = 0;
  /// y += b, in every row.
  virtual void bias_forward(std::int64_t tokens, std::int64_t width, const Real* b, Real* y) = 0;
  virtual void bias_backward(std::int64_t tokens, std::int64_t width, const Real* dy,
                             Into<Real> db) = 0;

  /// y = phi(x).
  virtual void activation_forward(ActivationKind kind, std::int64_t count, const Real* x,
                                  Real* y) = 0;
  virtual void activation_backward(ActivationKind kind, std::int64_t count, const Real* x,
                                   const Real* dy, Into<Real> dx) = 0;
  /// The same for a function without a kernel of its own, in double.
  virtual void function_forward(const Activation& phi, std::int64_t count, const Real* x,
                                Real* y) = 0;
  virtual void function_backward(const Activation& phi, std::int64_t count, const Real* x,
                                 const Real* dy, Into<Real> dx) = 0;
  /// y = a b, by entry; either gradient may be null.
  virtual void multiply_forward(std::int64_t count, const Real* a, const Real* b, Real* y) = 0;
  virtual void multiply_backward(std::int64_t count, const Real* a, const Real* b, const Real* dy,
                                 Into<Real> da, Into<Real> db) = 0;
  /// y = x/(1 - rate) where value i of the stream is at least `rate`, else 0.
  virtual void dropout_forward(const Stream& mask, double rate, std::int64_t count, const Real* x,
                               Real* y) = 0;
  virtual void dropout_backward(const Stream& mask, double rate, std::int64_t count, const Real* dy,
                                Into<Real> dx) = 0;

  /// y = a x + b f.
  virtual void blend_forward(std::int64_t count, double a, const Real* x, double b, const Real* f,
                             Real* y) = 0;
  /// dx: a dy.
  virtual void scaled_backward(std::int64_t count, double a, const Real* dy, Into<Real> dx) = 0;

  /// y = (x - mean) / sqrt(variance + eps) by row, without the mean for rms norm; `inverse` keeps
  /// 1/sqrt(variance + eps). A constant row under eps = 0 gives 0, the limit of small eps.
  virtual void norm_forward(const NormShape& shape, const Real* x, Real* y, Real* inverse) = 0;
  virtual void norm_backward(const NormShape& shape, const Real* y, const Real* inverse,
                             const Real* dy, Into<Real> dx) = 0;
  /// The same of the sum a x + b f, which is not kept.
  virtual void blend_norm_forward(const NormShape& shape, double a, const Real* x, double b,
                                  const Real* f, Real* y, Real* inverse) = 0;
  virtual void blend_norm_backward(const NormShape& shape, const Real* y, const Real* inverse,
                                   const Real* dy, double a, Into<Real> dx, double b,
                                   Into<Real> df) = 0;
  /// The same by column and group; `inverse` is (groups, width).
  virtual void column_norm_forward(const ColumnNormShape& shape, const Real* x, Real* y,
                                   Real* inverse) = 0;
  virtual void column_norm_backward(const ColumnNormShape& shape, const Real* y,
                                    const Real* inverse, const Real* dy, Into<Real> dx) = 0;
  /// y = gain x + shift, by column.
  virtual void affine_forward(std::int64_t tokens, std::int64_t width, const Real* x,
                              const Real* gain, const Real* shift, Real* y) = 0;
  /// dx may be null.
  virtual void affine_backward(std::int64_t tokens, std::int64_t width, const Real* x,
                               const Real* gain, const Real* dy, Into<Real> dx, Into<Real> dgain,
                               Into<Real> dshift) = 0;

  /// mix = weights v with weights = softmax(scale q k^T) by row, for each head of each sequence;
  /// with dropout they are masked after the softmax. `log_sums` keeps ln of the sum of e^score for
  /// each of weight_rows() rows. Any gradient may be null.
  virtual void attention_forward(const AttentionShape& shape, const Real* q, const Real* k,
                                 const Real* v, Real* log_sums, Real* mix) = 0;
  virtual void attention_backward(const AttentionShape& shape, const Real* q, const Real* k,
                                  const Real* v, const Real* log_sums, const Real* mix,
                                  const Real* dmix, Into<Real> dq, Into<Real> dk,
                                  Into<Real> dv) = 0;

  /// The same in two steps, between which scores of other layers are added: scores = scale q k^T +
  /// before, (weight_rows(), keys), 0 where the mask hides a key; `before` may be null, and so may
  /// any gradient.
  virtual void scores_forward(const AttentionShape& shape, const Real* q, const Real* k,
                              const Real* before, Real* scores) = 0;
  /// dscores is 0 where the mask hides a key.
  virtual void scores_backward(const AttentionShape& shape, const Real* q, const Real* k,
                               const Real* dscores, Into<Real> dq, Into<Real> dk) = 0;
  /// mix = softmax(scores) v.
  virtual void mix_forward(const AttentionShape& shape, const Real* scores, const Real* v,
                           Real* log_sums, Real* mix) = 0;
  virtual void mix_backward(const AttentionShape& shape, const Real* scores, const Real* v,
                            const Real* log_sums, const Real* mix, const Real* dmix,
                            Into<Real> dscores, Into<Real> dv) = 0;

  virtual void conv_forward(const ConvShape& shape, const Real* x, const Real* w, Real* y) = 0;
  virtual void conv_backward_input(const ConvShape& shape, const Real* dy, const Real* w,
                                   Into<Real> dx) = 0;
  virtual void conv_backward_weight(const ConvShape& shape, const Real* x, const Real* dy,
                                    Into<Real> dw) = 0;

  /// y = the mean over each sequence's tokens.
  virtual void pool_forward(const SequenceShape& shape, const Real* x, Real* y) = 0;
  virtual void pool_backward(const SequenceShape& shape, const Real* dy, Into<Real> dx) = 0;

  /// y[t] = table[ids[t]].
  virtual void embedding_forward(std::int64_t tokens, std::int64_t width, const std::int32_t* ids,
                                 const Real* table, Real* y) = 0;
  /// dtable[ids[t]] += dy[t].
  virtual void embedding_backward(std::int64_t tokens, std::int64_t width, const std::int32_t* ids,
                                  const Real* dy, Real* dtable) = 0;

  /// Sum over tokens of -ln softmax(logits)[target]; `probabilities` keeps the softmax.
  virtual double cross_entropy_forward(std::int64_t tokens, std::int64_t classes,
                                       const Real* logits, const std::int32_t* targets,
                                       Real* probabilities) = 0;
  /// dlogits: scale (probabilities - onehot(target)).
  virtual void cross_entropy_backward(std::int64_t tokens, std::int64_t classes,
                                      const Real* probabilities, const std::int32_t* targets,
                                      double scale, Into<Real> dlogits) = 0;

  /// Sum of (y - target)^2 / 2.
  virtual double squared_error_forward(std::int64_t count, const Real* y, const Real* target) = 0;
  /// dy: scale (y - target).
  virtual void squared_error_backward(std::int64_t count, const Real* y, const Real* target,
                                      double scale, Into<Real> dy) = 0;

  /// Sum of a b over all entries, in double.
  virtual double dot(std::int64_t count, const Real* a, const Real* b) = 0;
  virtual Moments moments(const SequenceShape& shape, const Real* x) = 0;

  /// One entry after the other by the rule of `update`, which says what is read and written;
  /// pointers that it does not use may be null.
  virtual void update(const ElementUpdate& update, std::int64_t count, Real* theta, Real* gradient,
                      Real* first, Real* second) = 0;
  /// by_row = beta by_row + (1 - beta) (row sums of x^2 + eps), the same by column; sums in double.
  virtual void average_square_sums(std::int64_t rows, std::int64_t columns, double beta, double eps,
                                   const Real* x, Real* by_row, Real* by_column) = 0;
  /// x /= sqrt(by_row by_column / total), by entry.
  virtual void divide_by_factored_root(std::int64_t rows, std::int64_t columns, const Real* by_row,
                                       const Real* by_column, double total, Real* x) = 0;
};

/// "cpu", "cuda" or "cuda:N" (with "+tf32" to allow it), or "auto" for the best one there is.
/// Throws Error(input) for another name, a number N beside others or a thread count that cannot be,
/// Error(fault) where there is no CUDA device at all.
template <class Real>
std::shared_ptr<Device<Real>> make_device(const std::string& name, int threads);
extern template std::shared_ptr<Device<float>> make_device<float>(const std::string&, int);
extern template std::shared_ptr<Device<double>> make_device<double>(const std::string&, int);

}  // namespace scalecalc::tensor
