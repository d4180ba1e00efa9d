#include "tensor/cuda/compiler.hpp"

#include <nvrtc.h>

#include <algorithm>
#include <vector>

#include "scalecalc/error.hpp"
#include "tensor/cuda/shared_library.hpp"

namespace scalecalc::tensor::cuda {

struct Compiler::Library {
  Library() : library("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    library.find("nvrtcCreateProgram", create);
    library.find("nvrtcDestroyProgram", destroy);
    library.find("nvrtcCompileProgram", compile);
    library.find("nvrtcGetProgramLogSize", log_size);
    library.find("nvrtcGetProgramLog", log);
    library.find("nvrtcGetCUBINSize", cubin_size);
    library.find("nvrtcGetCUBIN", cubin);
    library.find("nvrtcGetPTXSize", ptx_size);
    library.find("nvrtcGetPTX", ptx);
    library.find("nvrtcGetNumSupportedArchs", arch_count);
    library.find("nvrtcGetSupportedArchs", archs);
    library.find("nvrtcGetErrorString", error_string);
  }
  void check(nvrtcResult status, const std::string& detail = {}) const {
    if (status == NVRTC_SUCCESS) return;
    throw Error(ErrorKind::fault,
                "an activation could not be compiled for the device: " +
                    std::string(error_string(status)) + (detail.empty() ? "" : ": " + detail),
                "device cuda, NVRTC", "use --device cpu");
  }
  std::string log_of(nvrtcProgram program) const {
    std::size_t size = 0;
    if (log_size(program, &size) != NVRTC_SUCCESS || size <= 1) return {};
    std::string text(size, '\0');
    if (log(program, text.data()) != NVRTC_SUCCESS) return {};
    text.resize(std::min<std::size_t>(size - 1, 400));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  /// The newest architecture that NVRTC knows and the device can run.
  int best_arch(int capability) const {
    int count = 0;
    check(arch_count(&count));
    std::vector<int> all(static_cast<std::size_t>(count));
    check(archs(all.data()));
    int best = 0;
    for (const int arch : all) {
      if (arch <= capability) best = std::max(best, arch);
    }
    if (best == 0) check(NVRTC_ERROR_INVALID_OPTION, "the device is older than NVRTC supports");
    return best;
  }

  SharedLibrary library;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&nvrtcGetCUBIN) cubin = nullptr;
  decltype(&nvrtcGetPTXSize) ptx_size = nullptr;
  decltype(&nvrtcGetPTX) ptx = nullptr;
  decltype(&nvrtcGetNumSupportedArchs) arch_count = nullptr;
  decltype(&nvrtcGetSupportedArchs) archs = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;
};

Compiler::Compiler() : library_(std::make_unique<const Library>()) {}
Compiler::~Compiler() = default;

std::string Compiler::compile(const std::string& source, int capability) const {
  const Library& nvrtc = *library_;
  const int arch = nvrtc.best_arch(capability);
  const bool own = arch == capability;
  const std::string option =
      "--gpu-architecture=" + std::string(own ? "sm_" : "compute_") + std::to_string(arch);
  const char* options[] = {option.c_str(), "--std=c++17"};
  nvrtcProgram program = nullptr;
  nvrtc.check(nvrtc.create(&program, source.c_str(), "activation.cu", 0, nullptr, nullptr));
  struct Destroyer {
    const Library& nvrtc;
    nvrtcProgram program;
    ~Destroyer() { nvrtc.destroy(&program); }
  } destroyer{nvrtc, program};
  const nvrtcResult status = nvrtc.compile(program, 2, options);
  if (status != NVRTC_SUCCESS) nvrtc.check(status, nvrtc.log_of(program));
  std::size_t size = 0;
  nvrtc.check(own ? nvrtc.cubin_size(program, &size) : nvrtc.ptx_size(program, &size));
  std::string code(size, '\0');
  nvrtc.check(own ? nvrtc.cubin(program, code.data()) : nvrtc.ptx(program, code.data()));
  return code;
}

}  // namespace scalecalc::tensor::cuda
