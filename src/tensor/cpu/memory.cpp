#include <cstring>
#include <new>

#include "base/machine.hpp"
#include "scalecalc/error.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"

namespace scalecalc::tensor {
namespace {
constexpr std::align_val_t kAlignment{64};
}

template <class Real>
CpuDevice<Real>::~CpuDevice() {
  for (auto& [bytes, buffers] : free_) {
    for (void* buffer : buffers) ::operator delete(buffer, kAlignment);
  }
}

template <class Real>
void* CpuDevice<Real>::allocate(std::size_t bytes) {
  std::vector<void*>& buffers = free_[bytes];
  void* data = nullptr;
  if (buffers.empty()) {
    data = ::operator new(bytes, kAlignment, std::nothrow);
    if (data == nullptr) {
      throw Error(ErrorKind::fault, "out of memory for " + std::to_string(bytes) + " bytes",
                  "device cpu", "use fewer layers or a smaller width");
    }
    bytes_held_ += bytes;
  } else {
    data = buffers.back();
    buffers.pop_back();
  }
  bytes_in_use_ += bytes;
  return data;
}

template <class Real>
void CpuDevice<Real>::release(void* data, std::size_t bytes) noexcept {
  bytes_in_use_ -= bytes;
  try {
    free_[bytes].push_back(data);
  } catch (const std::bad_alloc&) {
    bytes_held_ -= bytes;
    ::operator delete(data, kAlignment);
  }
}

template <class Real>
double CpuDevice<Real>::bytes_there() const {
  return base::allowed_bytes();
}

template <class Real>
void CpuDevice<Real>::upload(const void* host, void* data, std::size_t bytes) {
  if (bytes > 0) std::memcpy(data, host, bytes);
}

template <class Real>
void CpuDevice<Real>::zero(void* data, std::size_t bytes) {
  if (bytes > 0) std::memset(data, 0, bytes);
}

template <class Real>
void CpuDevice<Real>::draw(const Draw& draw, std::int64_t count, Real* out) {
  for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    tensor::fill(draw, static_cast<std::uint64_t>(begin), end - begin, out + begin);
  });
}

template <class Real>
void CpuDevice<Real>::fill(std::int64_t count, Real value, Real* out) {
  std::fill(out, out + count, value);
}

template <class Real>
void CpuDevice<Real>::add_from_host(std::int64_t count, double scale, const Real* x, Real* y) {
  for_ranges(threads_, count, kEntries, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<Real>(static_cast<double>(y[i]) + scale * static_cast<double>(x[i]));
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
