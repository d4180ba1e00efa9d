#include "tensor/cuda/blas.hpp"

#include <cublas_v2.h>

#include <type_traits>

#include "scalecalc/error.hpp"
#include "tensor/cuda/blas_library.hpp"
#include "tensor/cuda/shared_library.hpp"

namespace scalecalc::tensor::cuda {
namespace {
/// What NVIDIA recommends for the newest devices; results depend on its size.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
const char* const kWhat = "cuBLAS";
const std::vector<std::string> kNames = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
}  // namespace

struct Blas::Library {
  Library(Pool& pool, bool tf32) : pool_(pool), tf32_(tf32), library_(kWhat, kNames) {
    library_.find("cublasCreate_v2", create_);
    library_.find("cublasDestroy_v2", destroy_);
    library_.find("cublasSetStream_v2", set_stream_);
    library_.find("cublasSetWorkspace_v2", set_workspace_);
    library_.find("cublasGemmStridedBatchedEx_64", multiply_);
    library_.find("cublasGetStatusString", status_string_);
    pool_.queue().activate("start of cuBLAS");
    check(create_(&handle_), "start of cuBLAS");
    try {
      check(set_stream_(handle_, pool_.queue().stream()), "start of cuBLAS");
      workspace_ = pool_.allocate(kWorkspaceBytes);
      check(set_workspace_(handle_, workspace_, kWorkspaceBytes), "start of cuBLAS");
    } catch (...) {
      close();
      throw;
    }
  }
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Real>
  static void send(void* self, const char* operation, const void* product) {
    static_cast<Library*>(self)->multiply(operation, *static_cast<const Product<Real>*>(product));
  }

 private:
  /// cuBLAS stores by columns: the row-major c = a b is c^T = b^T a^T to it.
  template <class Real>
  void multiply(const char* operation, const Product<Real>& p) {
    constexpr bool kIsFloat = std::is_same_v<Real, float>;
    const Real one = 1, beta = p.adds ? Real(1) : Real(0);
    const cudaDataType type = kIsFloat ? CUDA_R_32F : CUDA_R_64F;
    const cublasComputeType_t compute = !kIsFloat ? CUBLAS_COMPUTE_64F_PEDANTIC
                                        : tf32_   ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                  : CUBLAS_COMPUTE_32F_PEDANTIC;
    const auto as = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    check(multiply_(handle_, as(p.b_transposed), as(p.a_transposed), p.columns, p.rows, p.inner,
                    &one, p.b, type, p.b_row, p.b_step, p.a, type, p.a_row, p.a_step, &beta, p.c,
                    type, p.c_row, p.c_step, p.batch, compute, CUBLAS_GEMM_DEFAULT),
          operation);
  }
  void check(cublasStatus_t status, const char* operation) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(
        ErrorKind::fault, std::string(operation) + " failed: cuBLAS says " + status_string_(status),
        "device " + pool_.queue().device() + ", " + operation, "run again, or use --device cpu");
  }
  void close() noexcept {
    destroy_(handle_);
    if (workspace_ != nullptr) pool_.release(workspace_, kWorkspaceBytes);
  }

  Pool& pool_;
  bool tf32_;
  SharedLibrary library_;
  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  decltype(&cublasCreate_v2) create_ = nullptr;
  decltype(&cublasDestroy_v2) destroy_ = nullptr;
  decltype(&cublasSetStream_v2) set_stream_ = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace_ = nullptr;
  decltype(&cublasGemmStridedBatchedEx_64) multiply_ = nullptr;
  decltype(&cublasGetStatusString) status_string_ = nullptr;
};

std::string why_no_blas() {
  try {
    const SharedLibrary library(kWhat, kNames);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

Blas::Blas(Pool& pool, bool tf32) : pool_(pool), tf32_(tf32) {}
Blas::~Blas() = default;

template <class Real>
void Blas::multiply(const char* operation, const Product<Real>& product) {
  if (!library_) library_ = std::make_unique<Library>(pool_, tf32_);
  pool_.queue().fixed(operation, &Library::send<Real>, library_.get(), product);
}
template void Blas::multiply(const char*, const Product<float>&);
template void Blas::multiply(const char*, const Product<double>&);

}  // namespace scalecalc::tensor::cuda
