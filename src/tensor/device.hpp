#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>

#include "base/host_device.hpp"
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
/// Biases of all scores, in the order of attention's weights (sequence, head, query; key), of a
/// table of (buckets, heads); `buckets[query * keys + key]` is a row of it.
struct BiasShape {
  std::int64_t sequences, heads, tokens, keys, buckets;
};
/// Feature i of head h of a token is column h * head_width + i; the first `width` features turn, in
/// pairs of i and i + width/2, by a table of (tokens, width): of each pair the cosine at column i,
/// the sine at i + width/2, both times what turned features are multiplied by.
struct RotaryShape {
  std::int64_t sequences, tokens, heads, head_width, width;
};
/// Rows of x are the positions of one image after the other, row by row. The weight is (kernel^2
/// in_channels/groups, out_channels): row (tap_y * kernel + tap_x) * in_channels/groups + channel.
struct ConvShape {
  std::int64_t images, height, width, in_channels, out_channels, kernel, stride, padding, groups;
  bool one_row = false;  ///< the kernel lies along rows, each of which it sees by itself
  SCALECALC_HOST_DEVICE std::int64_t taps() const { return one_row ? kernel : kernel * kernel; }
  SCALECALC_HOST_DEVICE std::int64_t out_height() const {
    return one_row ? height : (height + 2 * padding - kernel) / stride + 1;
  }
  SCALECALC_HOST_DEVICE std::int64_t out_width() const {
    return (width + 2 * padding - kernel) / stride + 1;
  }
  SCALECALC_HOST_DEVICE std::int64_t positions() const { return height * width; }
  SCALECALC_HOST_DEVICE std::int64_t out_positions() const { return out_height() * out_width(); }
  SCALECALC_HOST_DEVICE std::int64_t group_in() const { return in_channels / groups; }
  SCALECALC_HOST_DEVICE std::int64_t group_out() const { return out_channels / groups; }
};
/// Rows of x are the positions of one image after the other, row by row, as in ConvShape.
struct UpsampleShape {
  std::int64_t images, height, width, channels, factor;
  SCALECALC_HOST_DEVICE std::int64_t positions() const { return height * width; }
  SCALECALC_HOST_DEVICE std::int64_t out_positions() const {
    return factor * height * factor * width;
  }
};
/// Columns of two matrices side by side.
struct ConcatShape {
  std::int64_t rows, left, right;
};
/// Rows are the tokens of one sequence after the other.
struct SequenceShape {
  std::int64_t sequences, tokens, width;
};
/// (tokens, experts) of scores and weights. Of the softmax over all, or sigmoids; divided by the
/// sum of those that are chosen where `normalised`.
struct RouteShape {
  std::int64_t tokens, experts, top_k;
  bool sigmoid, normalised;
};
/// (rows, width), with a factor of each row every `stride` entries.
struct RowsShape {
  std::int64_t rows, width, stride;
};
/// Where a backward puts a gradient: on top of what is there, or over what was never written. Null
/// where none is wanted.
template <class Real>
struct Into {
  Real* data = nullptr;
  bool adds = false;
  explicit operator bool() const { return data != nullptr; }
  SCALECALC_HOST_DEVICE Real operator()(std::int64_t i, Real value) const {
    return adds ? data[i] + value : value;
  }
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

/// Every operation, as operations.def has them.
template <class Real>
class Device : public Memory {
 public:
  virtual std::string name() const = 0;

#define SCALECALC_OPERATION(result, name, ...) virtual result name(__VA_ARGS__) = 0;
#include "tensor/operations.def"
};

/// "cpu" ("cpu+eigen" without oneDNN), "cuda" or "cuda:N" (with "+tf32" to allow it), or "auto" for
/// the best one there is.
/// Throws Error(input) for another name, a number N beside others or a thread count that cannot be,
/// Error(fault) where there is no CUDA device at all.
template <class Real>
std::shared_ptr<Device<Real>> make_device(const std::string& name, int threads);
extern template std::shared_ptr<Device<float>> make_device<float>(const std::string&, int);
extern template std::shared_ptr<Device<double>> make_device<double>(const std::string&, int);

}  // namespace scalecalc::tensor
