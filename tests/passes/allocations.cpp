#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "scalecalc/optimizers.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

// Every allocation of the process passes here, whoever makes it.
namespace {
std::atomic<long> allocations = 0;
}
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* data, std::size_t size) {
  ++allocations;
  return __libc_realloc(data, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** data, std::size_t alignment, std::size_t size) {
  ++allocations;
  *data = __libc_memalign(alignment, size);
  return *data == nullptr ? ENOMEM : 0;
}
}

namespace scalecalc {
namespace {

Network network_of(const char* toml) {
  return build_network(parse_model(toml, "test"));
}

const char* const kModels[] = {
    R"([model]
kind = "transformer"
layers = 3
width = 128
heads = 4
ffn = 512
sequence = 80
batch = 2
bias = true
norm_affine = true
placement = "pre"
causal = true
dropout = 0.1
attention_dropout = 0.1
)",
    R"([model]
kind = "transformer"
layers = 4
width = 64
heads = 4
kv_heads = 2
ffn = 96
sequence = 12
activation = "silu"
gated = true
qk_norm = true
norm = "rmsnorm"
placement = "post"
[input]
kind = "tokens"
[loss]
kind = "mse"
)",
    R"([model]
kind = "layers"
sequence = 64
batch = 2
features = 8
[[layer]]
type = "conv2d"
channels = 16
kernel = 3
padding = 1
[[layer]]
type = "norm"
norm = "batchnorm"
[[layer]]
type = "activation"
activation = "relu"
[[layer]]
type = "pool"
[[layer]]
type = "linear"
width = 4
)",
};

/// Allocations of three steps after two. Products are Eigen's: each of oneDNN takes memory of its
/// own to pack its factors in.
template <class Real>
long later_allocations(const char* model, const char* optimizer, int threads, bool recompute) {
  PassOptions options{1, threads, "cpu+eigen"};
  options.recompute = recompute;
  Passes<Real> passes(network_of(model), options);
  Trainer<Real> trainer(passes, optimizer_options(optimizer));
  for (int i = 0; i < 2; ++i) trainer.step();
  const long before = allocations;
  for (int i = 0; i < 3; ++i) trainer.step();
  return allocations - before;
}

}  // namespace

TEST_CASE("allocations are counted") {
  const long before = allocations;
  const std::vector<double> some(100000);
  CHECK(allocations > before);
}

TEST_CASE("a training step allocates nothing after the first") {
  for (const char* model : kModels) {
    CAPTURE(model);
    for (const char* optimizer : {"sgd", "adamw"}) {
      CAPTURE(optimizer);
      for (const int threads : {1, 2}) {
        CAPTURE(threads);
        CHECK(later_allocations<float>(model, optimizer, threads, false) == 0);
        CHECK(later_allocations<double>(model, optimizer, threads, false) == 0);
        CHECK(later_allocations<float>(model, optimizer, threads, true) == 0);
      }
    }
  }
}

TEST_CASE("every optimizer's step allocates nothing after the first") {
  for (const std::string& optimizer : optimizer_names()) {
    CAPTURE(optimizer);
    CHECK(later_allocations<float>(kModels[0], optimizer.c_str(), 2, false) == 0);
  }
}

}  // namespace scalecalc

#endif
