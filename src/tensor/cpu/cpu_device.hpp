#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "tensor/cpu/maker.hpp"
#include "tensor/device.hpp"

namespace scalecalc::tensor {

/// Plain C++, Eigen, and oneDNN where it is faster. Work is cut into tiles by rules that keep every
/// bit of the results the same for any number of threads. Not thread-safe: one device serves one
/// Passes. Each .cpp file of this folder ends in `template class CpuDevice<...>`, which
/// instantiates the members that it defines.
template <class Real>
class CpuDevice final : public Device<Real> {
 public:
  explicit CpuDevice(int threads, bool eigen_alone = false)
      : threads_(threads), eigen_alone_(eigen_alone) {}
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;
  ~CpuDevice() override;

  void* allocate(std::size_t bytes) override;
  void release(void* data, std::size_t bytes) noexcept override;
  void upload(const void* host, void* data, std::size_t bytes) override;
  void zero(void* data, std::size_t bytes) override;
  const void* host(const void* data, std::size_t) override { return data; }
  std::size_t bytes_in_use() const override { return bytes_in_use_; }
  std::size_t bytes_held() const override { return bytes_held_; }
  double bytes_there() const override;

  std::string name() const override { return "cpu"; }
#define SCALECALC_OPERATION(result, name, ...) result name(__VA_ARGS__) override;
#include "tensor/operations.def"

 private:
  /// What makes a product of this shape.
  Maker maker(std::int64_t rows, std::int64_t columns, std::int64_t depth) const {
    return eigen_alone_ ? Maker::eigen : faster_maker<Real>(rows, columns, depth);
  }

  int threads_;
  bool eigen_alone_;
  std::size_t bytes_in_use_ = 0, bytes_held_ = 0;
  /// Released buffers by size: every layer asks for the same few sizes.
  std::unordered_map<std::size_t, std::vector<void*>> free_;
};

}  // namespace scalecalc::tensor
