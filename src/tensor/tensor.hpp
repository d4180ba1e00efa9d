#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "tensor/device.hpp"

namespace scalecalc::tensor {

/// Keeps its pool alive.
template <class T>
class PoolAllocator {
 public:
  using value_type = T;
  explicit PoolAllocator(std::shared_ptr<HostPool> pool) : pool_(std::move(pool)) {}
  template <class U>
  PoolAllocator(const PoolAllocator<U>& other) : pool_(other.pool()) {}  // NOLINT: a rebind

  T* allocate(std::size_t count) {
    return static_cast<T*>(pool_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* data, std::size_t count) {
    pool_->deallocate(data, count * sizeof(T), alignof(T));
  }
  const std::shared_ptr<HostPool>& pool() const { return pool_; }
  template <class U>
  bool operator==(const PoolAllocator<U>& other) const {
    return pool_ == other.pool();
  }

 private:
  std::shared_ptr<HostPool> pool_;
};

/// A contiguous row-major matrix in a device's memory. Copies share the buffer, which goes back to
/// the device when its last user is gone.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  /// Not initialised.
  Tensor(const std::shared_ptr<Memory>& memory, std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns) {
    const std::size_t bytes = this->bytes();
    buffer_ = std::shared_ptr<T>(
        static_cast<T*>(memory->allocate(bytes)),
        [memory, bytes](T* data) { memory->release(data, bytes); },
        PoolAllocator<T>(memory->pool()));
  }

  T* data() const { return buffer_.get(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t size() const { return rows_ * columns_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * sizeof(T); }
  bool empty() const { return buffer_ == nullptr; }

 private:
  std::int64_t rows_ = 0, columns_ = 0;
  std::shared_ptr<T> buffer_;
};

}  // namespace scalecalc::tensor
