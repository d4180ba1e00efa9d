#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda.hpp"
#include "tensor/device.hpp"
#include "tensor/draw.hpp"

/// The same calls on the CPU and on a CUDA device. Both round, in different orders: a sum of n
/// terms of size at most m is off by at most n eps n m on either, and comparisons allow twice that.
namespace scalecalc::tensor {

/// False, and a line that CTest reads as "skipped", when there is no device to compare with.
inline bool cuda_is_there() {
  const DeviceInfo first = cuda_devices().front();
  if (first.available()) return true;
  MESSAGE("skipped: " << first.why_none);
  return false;
}

template <class Real>
std::vector<Real> values(std::int64_t count, std::uint64_t seed, double scale = 1.0) {
  std::vector<Real> all(static_cast<std::size_t>(count));
  fill(Draw{Draw::Kind::normal, scale, {seed, stream_id("cuda test")}}, 0, count, all.data());
  return all;
}
template <class Real>
double largest(const std::vector<Real>& all) {
  double size = 0.0;
  for (const Real x : all) size = std::max(size, std::fabs(static_cast<double>(x)));
  return size;
}

/// An array on each of two devices.
template <class T>
class Both {
 public:
  Both(std::shared_ptr<Memory> cpu, std::shared_ptr<Memory> cuda, std::vector<T> start)
      : memory_{std::move(cpu), std::move(cuda)}, size_(start.size()) {
    for (int k = 0; k < 2; ++k) {
      data_[k] = static_cast<T*>(memory_[k]->allocate(bytes()));
      memory_[k]->upload(start.data(), data_[k], bytes());
    }
  }
  ~Both() {
    for (int k = 0; k < 2; ++k) memory_[k]->release(data_[k], bytes());
  }
  Both(const Both&) = delete;
  Both& operator=(const Both&) = delete;

  T* on(int k) const { return data_[k]; }
  std::vector<T> read(int k) const {
    const T* from = static_cast<const T*>(memory_[k]->host(data_[k], bytes()));
    return {from, from + size_};
  }
  /// The largest difference, infinite where just one is NaN.
  double difference() const {
    const std::vector<T> a = read(0), b = read(1);
    double worst = 0.0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
      if (a[i] == b[i] || std::isnan(a[i])) continue;
      worst = std::max(worst, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return worst;
  }

 private:
  std::size_t bytes() const { return size_ * sizeof(T); }
  std::shared_ptr<Memory> memory_[2];
  std::size_t size_;
  T* data_[2];
};

template <class Real>
class Pair {
 public:
  using Array = Both<Real>;
  static constexpr double eps = std::numeric_limits<Real>::epsilon();

  std::shared_ptr<Device<Real>> devices[2] = {make_device<Real>("cpu", 2),
                                              make_device<Real>("cuda", 1)};

  Array array(std::vector<Real> start) const { return {devices[0], devices[1], std::move(start)}; }
  Array random(std::int64_t count, std::uint64_t seed, double scale = 1.0) const {
    return array(values<Real>(count, seed, scale));
  }
  Both<std::int32_t> indices(std::vector<std::int32_t> all) const {
    return {devices[0], devices[1], std::move(all)};
  }
  /// Runs it on the CPU and on CUDA: body(device, 0 or 1).
  template <class Body>
  void run(const Body& body) const {
    for (int k = 0; k < 2; ++k) body(*devices[k], k);
  }
  /// The same twice: gradients written over what is there, and added to it.
  template <class Body>
  void run_written_and_added(const Body& body) const {
    for (const bool adds : {false, true}) {
      CAPTURE(adds);
      body(adds);
    }
  }
};

/// What comparing sums of `terms` products of at most `size` allows.
template <class Real>
double tolerance(std::int64_t terms, double size) {
  const double n = static_cast<double>(terms) + 4.0;
  return 2.0 * n * n * Pair<Real>::eps * size;
}

}  // namespace scalecalc::tensor
