#include "tensor/cpu/one_dnn.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <mutex>
#include <new>

namespace scalecalc::tensor {
namespace {

/// dnnl_version_t, of versions 2 and 3.
struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
/// Of cpu_runtime: what oneDNN shares a product out by.
constexpr unsigned kSequential = 1, kOpenMp = 2;

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

/// oneDNN makes the code of a product at its first of a kind and does not look whether the system
/// gave it the memory for that, 6 MiB in version 2.6: it ends the program. Throws std::bad_alloc
/// where there is not twice as much.
void make_room_for_code(const FloatProduct& product) {
  constexpr std::size_t kBytes = std::size_t{12} << 20;
  static std::once_flag made[2][2];
  std::call_once(made[product.a_transposed][product.b_transposed], [] {
    void* const room = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    ::munmap(room, kBytes);
  });
}

}  // namespace

OneDnn::OneDnn() {
  for (const char* name : {"libdnnl.so.3", "libdnnl.so.2"}) {
    if (open(name)) return;
  }
}

bool OneDnn::open(const char* name) {
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why_none_ = ::dlerror();
    return false;
  }
  const auto version = function<const Version*()>(library, "dnnl_version");
  const Sgemm multiply =
      function<int(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                   std::int64_t, const float*, std::int64_t, float, float*, std::int64_t)>(
          library, "dnnl_sgemm");
  if (version != nullptr && multiply != nullptr) {
    const Version& is = *version();
    threads_ = function<int()>(library, "omp_get_max_threads");
    set_threads_ = function<void(int)>(library, "omp_set_num_threads");
    const bool has_openmp = threads_ != nullptr && set_threads_ != nullptr;
    if (is.cpu_runtime == kSequential || (is.cpu_runtime == kOpenMp && has_openmp)) {
      multiply_ = multiply;
      version_ = std::to_string(is.major) + "." + std::to_string(is.minor) + "." +
                 std::to_string(is.patch);
      return true;
    }
  }
  why_none_ = std::string(name) + " has no product that runs on one thread";
  ::dlclose(library);
  return false;
}

const OneDnn& OneDnn::here() {
  static const OneDnn opened;
  return opened;
}

void OneDnn::multiply(const FloatProduct& p) const {
  make_room_for_code(p);
  // A pass shares its tiles out itself; the caller's own number comes back.
  const int before = threads_ != nullptr ? threads_() : 1;
  if (before != 1) set_threads_(1);
  const int status =
      multiply_(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.columns, p.depth,
                p.scale, p.a, p.a_stride, p.b, p.b_stride, p.adds ? 1.0F : 0.0F, p.c, p.c_stride);
  if (before != 1) set_threads_(before);
  if (status != 0) throw std::bad_alloc();
}

}  // namespace scalecalc::tensor
