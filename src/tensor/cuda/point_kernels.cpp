#include "tensor/cuda/point_kernels.hpp"

#include <map>
#include <optional>
#include <string>

#include "scalecalc/activation.hpp"
#include "scalecalc/error.hpp"
#include "tensor/cuda/compiler.hpp"
#include "tensor/cuda/point_source.hpp"

namespace scalecalc::tensor::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <class Real>
std::string named(const char* direction) {
  return std::string(direction) + (sizeof(Real) == sizeof(float) ? "_float" : "_double");
}

}  // namespace

struct PointKernels::Cache {
  Cache(const Queue& queue, ActivationSource c_source) : queue(queue), c_source(c_source) {
    int major = 0, minor = 0;
    queue.check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, queue.index()),
                "activation");
    queue.check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, queue.index()),
                "activation");
    capability = 10 * major + minor;
  }
  ~Cache() {
    for (const auto& [source, library] : libraries) cudaLibraryUnload(library);
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// The code of an activation; the same source is compiled once.
  cudaLibrary_t library(const Activation& phi) {
    const auto known = activations.find(&phi.impl());
    if (known != activations.end()) return known->second.library;
    const std::string source = point_source(phi, c_source);
    auto found = libraries.find(source);
    if (found == libraries.end()) {
      const std::string code = compiler.compile(source, capability);
      queue.activate("activation");
      cudaLibrary_t library = nullptr;
      queue.check(
          cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "activation");
      found = libraries.emplace(source, library).first;
    }
    activations.emplace(&phi.impl(), Known{phi, found->second});
    return found->second;
  }

  cudaKernel_t kernel(const Activation& phi, const std::string& name, const char* operation) {
    cudaKernel_t found = nullptr;
    queue.activate(operation);
    queue.check(cudaLibraryGetKernel(&found, library(phi), name.c_str()), operation);
    return found;
  }

  /// x and y of a forward; x, dy and dx of a backward.
  struct Order {
    cudaKernel_t kernel;
    std::int64_t count;
    const void *x, *y;
    void* dx;
    std::int64_t adds;
  };
  void run(const char* operation, const Order& order) const {
    if (order.count > 0) queue.fixed(operation, &send, const_cast<Queue*>(&queue), order);
  }
  static void send(void* self, const char* operation, const void* asked) {
    const auto& queue = *static_cast<const Queue*>(self);
    Order order = *static_cast<const Order*>(asked);
    int adds = order.adds != 0 ? 1 : 0;
    void* arguments[] = {&order.count, &order.x, &order.y, &order.dx, &adds};
    const dim3 blocks(static_cast<unsigned>((order.count + kThreads - 1) / kThreads));
    queue.check(cudaLaunchKernel(static_cast<const void*>(order.kernel), blocks, dim3(kThreads),
                                 arguments, 0, queue.stream()),
                operation);
  }

  /// The activation is held on to, so that its address stays its own.
  struct Known {
    Activation activation;
    cudaLibrary_t library;
  };
  const Queue& queue;
  const ActivationSource c_source;
  Compiler compiler;
  int capability = 0;
  std::map<std::string, cudaLibrary_t> libraries;
  std::map<const Activation::Impl*, Known> activations;
};

PointKernels::PointKernels(const Queue& queue, ActivationSource source)
    : queue_(queue), source_(source) {}
PointKernels::~PointKernels() = default;

template <class Real>
void PointKernels::forward(const Activation& phi, std::int64_t count, const Real* x, Real* y) {
  if (!cache_) cache_ = std::make_unique<Cache>(queue_, source_);
  const char* const operation = "function_forward";
  cache_->run(operation,
              {cache_->kernel(phi, named<Real>("forward"), operation), count, x, y, nullptr, 0});
}

template <class Real>
void PointKernels::backward(const Activation& phi, std::int64_t count, const Real* x,
                            const Real* dy, Into<Real> dx) {
  if (!cache_) cache_ = std::make_unique<Cache>(queue_, source_);
  const char* const operation = "function_backward";
  cache_->run(operation, {cache_->kernel(phi, named<Real>("backward"), operation), count, x, dy,
                          dx.data, dx.adds ? 1 : 0});
}

template void PointKernels::forward(const Activation&, std::int64_t, const float*, float*);
template void PointKernels::forward(const Activation&, std::int64_t, const double*, double*);
template void PointKernels::backward(const Activation&, std::int64_t, const float*, const float*,
                                     Into<float>);
template void PointKernels::backward(const Activation&, std::int64_t, const double*, const double*,
                                     Into<double>);

}  // namespace scalecalc::tensor::cuda
