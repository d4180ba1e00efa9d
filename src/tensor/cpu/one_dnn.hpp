#pragma once

#include <cstdint>
#include <string>

namespace scalecalc::tensor {

/// A row-major product of oneDNN: c = scale a b + (adds ? c : 0), of a or its transpose and of b or
/// its. Strides are in entries, from one row in memory to the next.
struct FloatProduct {
  std::int64_t rows, columns, depth;
  float scale;
  bool adds;
  const float* a;
  std::int64_t a_stride;
  bool a_transposed;
  const float* b;
  std::int64_t b_stride;
  bool b_transposed;
  float* c;
  std::int64_t c_stride;
};

/// The shared library oneDNN, which compiles a product in single precision for the processor that
/// it runs on. It has none in double precision.
class OneDnn {
 public:
  /// That of this machine, opened at the first call, for as long as the process lives.
  static const OneDnn& here();

  bool available() const { return multiply_ != nullptr; }
  const std::string& version() const { return version_; }  ///< "2.6.3"
  const std::string& why_none() const {
    return why_none_;
  }  ///< in words, where it is not available

  /// On this thread alone. Throws std::bad_alloc.
  void multiply(const FloatProduct& product) const;

 private:
  OneDnn();
  bool open(const char* name);

  using Sgemm = int (*)(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
                        float alpha, const float* a, std::int64_t lda, const float* b,
                        std::int64_t ldb, float beta, float* c, std::int64_t ldc);
  Sgemm multiply_ = nullptr;
  /// Of OpenMP, where oneDNN runs on it: how many threads a region of the calling thread has.
  int (*threads_)() = nullptr;
  void (*set_threads_)(int) = nullptr;
  std::string version_, why_none_;
};

}  // namespace scalecalc::tensor
