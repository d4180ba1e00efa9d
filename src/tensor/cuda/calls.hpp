#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

/// What a device has been asked for and not yet been sent. Nothing here knows the CUDA runtime.
namespace scalecalc::tensor::cuda {

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  bool operator==(const Extent&) const = default;
};

/// How a fixed call is sent: by `self`, with the order it was asked for with.
using Send = void (*)(void* self, const char* operation, const void* order);

/// One kernel, or one fixed call: something else that is sent to the device's stream. Arguments of
/// a kernel may change in a graph that is kept; those of a fixed call may not.
struct Call {
  const char* operation = nullptr;
  const void* kernel = nullptr;  ///< null for a fixed call
  Extent blocks, threads;
  Send send = nullptr;
  void* self = nullptr;
  std::size_t first = 0, count = 0;  ///< which arguments are its own

  bool is_kernel() const { return kernel != nullptr; }
};

/// Calls in order, with copies of their arguments.
class Calls {
 public:
  template <class... Arguments>
  void add_kernel(const char* operation, const void* kernel, Extent blocks, Extent threads,
                  const std::tuple<Arguments...>& arguments) {
    calls_.push_back({operation, kernel, blocks, threads, nullptr, nullptr, arguments_.size(),
                      sizeof...(Arguments)});
    std::apply([this](const Arguments&... argument) { (add(argument), ...); }, arguments);
  }
  /// `order` is compared by its bytes.
  template <class Order>
  void add_fixed(const char* operation, Send send, void* self, const Order& order) {
    static_assert(std::has_unique_object_representations_v<Order>);
    calls_.push_back({operation, nullptr, {}, {}, send, self, arguments_.size(), 1});
    add(order);
  }

  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }
  const Call& operator[](std::size_t index) const { return calls_[index]; }
  /// Argument `index` of a call; valid until the next one is added.
  const void* argument(const Call& call, std::size_t index) const {
    return bytes_.data() + arguments_[call.first + index].begin;
  }
  /// Forgets the calls and keeps the room they took.
  void clear();

  /// Whether one graph can stand for both: the same kernels over the same grids, and the same fixed
  /// calls with the same orders. Equal shapes have equal hashes.
  bool same_shape(const Calls& other) const;
  std::size_t shape_hash() const;
  /// Whether call `index` of two of the same shape has the same arguments.
  bool same_arguments(const Calls& other, std::size_t index) const;

 private:
  struct Argument {
    std::size_t begin, size;
  };
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);

  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    T* copy = std::construct_at(static_cast<T*>(make_room(sizeof(T))), value);
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(copy);  // what lies between members is no difference
#endif
#endif
    static_cast<void>(copy);
  }
  void* make_room(std::size_t size);
  bool same_bytes(const Call& call, const Calls& other, const Call& its) const;

  std::vector<Call> calls_;
  std::vector<Argument> arguments_;
  std::vector<std::byte> bytes_;
};

}  // namespace scalecalc::tensor::cuda
