#include "tensor/cpu/one_dnn.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "support.hpp"
#include "tensor/cpu/maker.hpp"

namespace scalecalc::tensor {
namespace {

/// rows x columns entries as float, `stride` from one row to the next, with NaN between them.
struct Operand {
  Operand(std::int64_t rows, std::int64_t columns, std::uint64_t seed)
      : stride(columns + 3),
        entries(static_cast<std::size_t>(rows * stride), std::numeric_limits<float>::quiet_NaN()) {
    const Vector drawn = normal_values(static_cast<std::size_t>(rows * columns), seed);
    for (std::int64_t i = 0; i < rows * columns; ++i)
      entries[static_cast<std::size_t>(i / columns * stride + i % columns)] =
          static_cast<float>(drawn[static_cast<std::size_t>(i)]);
  }
  double at(std::int64_t row, std::int64_t column, bool transposed) const {
    if (transposed) std::swap(row, column);
    return static_cast<double>(entries[static_cast<std::size_t>(row * stride + column)]);
  }
  std::int64_t stride;
  std::vector<float> entries;
};

struct Case {
  std::int64_t rows, columns, depth;
  bool a_transposed, b_transposed, adds;
};

/// |computed - exact| over the sum of the sizes of its terms, the largest of all entries.
double worst_error(const Case& c, float scale) {
  const Operand a(c.a_transposed ? c.depth : c.rows, c.a_transposed ? c.rows : c.depth, 1);
  const Operand b(c.b_transposed ? c.columns : c.depth, c.b_transposed ? c.depth : c.columns, 2);
  Operand result(c.rows, c.columns, 3);
  const Operand before = result;
  if (!c.adds) {
    for (float& entry : result.entries) entry = std::numeric_limits<float>::quiet_NaN();
  }
  OneDnn::here().multiply({c.rows, c.columns, c.depth, scale, c.adds, a.entries.data(), a.stride,
                           c.a_transposed, b.entries.data(), b.stride, c.b_transposed,
                           result.entries.data(), result.stride});
  double worst = 0.0;
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      double sum = c.adds ? before.at(i, j, false) : 0.0, size = std::fabs(sum);
      for (std::int64_t k = 0; k < c.depth; ++k) {
        const double term =
            static_cast<double>(scale) * a.at(i, k, c.a_transposed) * b.at(k, j, c.b_transposed);
        sum += term;
        size += std::fabs(term);
      }
      const double error = std::fabs(result.at(i, j, false) - sum) / size;
      worst = error <= worst ? worst : error;  // also where the error is not a number
    }
  }
  return worst;
}

/// Lets this process have that many bytes of addresses more than it has.
void limit_memory(std::size_t more) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limit = {bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

}  // namespace

// In a process of its own: where a product has been made before, its code is there.
TEST_CASE("oneDNN: without memory for its code the first product is an exception") {
  constexpr char kInside[] = "SCALECALC_TEST_FIRST_PRODUCT";
  constexpr int kNoMemory = 7;
  if (!OneDnn::here().available()) return;
  if (std::getenv(kInside) != nullptr) {
    limit_memory(std::size_t{4} << 20);
    try {
      worst_error({4, 4, 4, false, false, false}, 1.0F);
    } catch (const std::bad_alloc&) {
      std::_Exit(kNoMemory);
    }
    std::_Exit(0);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(kInside, "1", 1);
    ::execl("/proc/self/exe", "test_tensor", "-tc=oneDNN: without memory*", nullptr);
    std::_Exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kNoMemory);
}

TEST_CASE("oneDNN: products against sums written out") {
  if (!OneDnn::here().available()) {
    MESSAGE("not here: ", OneDnn::here().why_none());
    CHECK(!OneDnn::here().why_none().empty());
    CHECK(faster_maker<float>(1024, 1024, 1024) == Maker::eigen);
    return;
  }
  CHECK(!OneDnn::here().version().empty());
  for (const Case& c :
       {Case{1, 1, 1, false, false, false}, Case{65, 130, 257, false, false, true},
        Case{65, 130, 257, true, false, false}, Case{64, 96, 300, false, true, true},
        Case{200, 33, 17, false, true, false}, Case{7, 300, 512, true, false, true},
        Case{144, 144, 700, true, true, false}}) {
    CAPTURE(c.rows);
    // A sum of n + 1 rounded terms is off by at most n + 2 roundings of the sum of their sizes.
    const double bound = static_cast<double>(c.depth + 2) *
                         static_cast<double>(std::numeric_limits<float>::epsilon());
    CHECK(worst_error(c, 0.75F) < bound);
  }
}

TEST_CASE("oneDNN: the caller's number of OpenMP threads stays") {
  if (!OneDnn::here().available()) return;
  void* openmp = ::dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (openmp == nullptr) return;
  auto* threads = reinterpret_cast<int (*)()>(::dlsym(openmp, "omp_get_max_threads"));
  auto* set_threads = reinterpret_cast<void (*)(int)>(::dlsym(openmp, "omp_set_num_threads"));
  const int before = threads();
  set_threads(5);
  worst_error({64, 64, 64, false, false, false}, 1.0F);
  CHECK(threads() == 5);
  set_threads(before);
  ::dlclose(openmp);
}

TEST_CASE("products: what makes one goes by its shape, and in double precision it is Eigen") {
  CHECK(faster_maker<double>(1024, 1024, 1024) == Maker::eigen);
  CHECK(faster_maker<float>(4, 4, 4) == Maker::eigen);
  CHECK((faster_maker<float>(1024, 1024, 1024) == Maker::one_dnn) == OneDnn::here().available());
}

}  // namespace scalecalc::tensor
