#include "tensor/cuda/point_kernels.hpp"

#include <map>

#include "arena.hpp"
#include "graphs.hpp"
#include "scalecalc/activation.hpp"

/// In place of NVRTC: the activation's own evaluation. What NVRTC would compile is tested with the
/// C compiler, in tests/activation/source_test.cpp.
namespace scalecalc::tensor::cuda {

struct PointKernels::Cache {
  /// The activation is held on to until it is used.
  std::map<const Activation::Impl*, Activation> activations;
};

namespace {

struct Order {
  const Activation* phi;
  std::int64_t count;
  const void *x, *dy;
  void* out;
  std::int64_t adds;
};

template <class Real>
void run(const Order& order) {
  emulator::open();
  const auto *x = static_cast<const Real*>(order.x), *dy = static_cast<const Real*>(order.dy);
  auto* out = static_cast<Real*>(order.out);
  for (std::int64_t i = 0; i < order.count; ++i) {
    const double at = static_cast<double>(x[i]);
    const Real value = dy == nullptr ? static_cast<Real>(order.phi->value(at))
                                     : static_cast<Real>(order.phi->slope(at)) * dy[i];
    out[i] = order.adds != 0 ? out[i] + value : value;
  }
}

template <class Real>
void send(void*, const char*, const void* asked) {
  emulator::perform([order = *static_cast<const Order*>(asked)] { run<Real>(order); });
}

}  // namespace

PointKernels::PointKernels(const Queue& queue, ActivationSource source)
    : queue_(queue), source_(source), cache_(std::make_unique<Cache>()) {}
PointKernels::~PointKernels() = default;

template <class Real>
void PointKernels::forward(const Activation& phi, std::int64_t count, const Real* x, Real* y) {
  const Activation* kept = &cache_->activations.try_emplace(&phi.impl(), phi).first->second;
  queue_.fixed("function_forward", &send<Real>, nullptr, Order{kept, count, x, nullptr, y, 0});
}

template <class Real>
void PointKernels::backward(const Activation& phi, std::int64_t count, const Real* x,
                            const Real* dy, Into<Real> dx) {
  const Activation* kept = &cache_->activations.try_emplace(&phi.impl(), phi).first->second;
  queue_.fixed("function_backward", &send<Real>, nullptr,
               Order{kept, count, x, dy, dx.data, dx.adds ? 1 : 0});
}

template void PointKernels::forward(const Activation&, std::int64_t, const float*, float*);
template void PointKernels::forward(const Activation&, std::int64_t, const double*, double*);
template void PointKernels::backward(const Activation&, std::int64_t, const float*, const float*,
                                     Into<float>);
template void PointKernels::backward(const Activation&, std::int64_t, const double*, const double*,
                                     Into<double>);

}  // namespace scalecalc::tensor::cuda
