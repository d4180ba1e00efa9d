#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tensor/cuda/queue.hpp"

namespace scalecalc::tensor::cuda {

/// The device's memory. Released buffers are kept by size for the next request: every layer asks
/// for the same few sizes, and on one queue a buffer may be handed on before its last use is over.
/// Of those that are free the lowest is taken, so that one pass after the other gets the same
/// addresses for the same requests, whatever order it releases them in.
class Pool {
 public:
  explicit Pool(const Queue& queue) : queue_(queue) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Throws Error(fault) with what was asked for, what is free and what would fit.
  void* allocate(std::size_t bytes);
  void release(void* data, std::size_t bytes) noexcept;
  std::size_t in_use() const { return in_use_; }
  std::size_t held() const { return held_; }
  /// Held, or free on the device.
  double there() const;

  const Queue& queue() const { return queue_; }

 private:
  /// Gives what is kept for reuse back to the system.
  void trim() noexcept;
  [[noreturn]] void fail(std::size_t bytes) const;

  const Queue& queue_;
  std::size_t in_use_ = 0, held_ = 0;
  std::unordered_map<std::size_t, std::vector<void*>> free_;  ///< heaps, the lowest first
};

/// Memory for the length of one operation.
template <class T>
class Scratch {
 public:
  Scratch(Pool& pool, std::int64_t count)
      : pool_(pool),
        bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(pool.allocate(bytes_))) {}
  ~Scratch() { pool_.release(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  Pool& pool_;
  std::size_t bytes_;
  T* data_;
};

/// A buffer of the host that the device copies to at full speed. Grows as needed.
class Staging {
 public:
  explicit Staging(const Queue& queue) : queue_(queue) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// The values, valid until the next call. Waits.
  const void* download(const void* data, std::size_t bytes);

 private:
  const Queue& queue_;
  void* buffer_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace scalecalc::tensor::cuda
