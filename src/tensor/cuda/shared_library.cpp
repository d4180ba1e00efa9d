#include "tensor/cuda/shared_library.hpp"

#include <dlfcn.h>

#include "scalecalc/error.hpp"

namespace scalecalc::tensor::cuda {

SharedLibrary::SharedLibrary(const std::string& what, const std::vector<std::string>& names)
    : what_(what) {
  std::string reason;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const std::string& name : names) {
      handle_ = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      if (reason.empty()) reason = dlerror();
    }
  }
  throw Error(ErrorKind::fault, what + " cannot be opened: " + reason, "device cuda",
              "install " + names.front() +
                  ", name its folder in LD_LIBRARY_PATH, or use --device "
                  "cpu");
}

SharedLibrary::~SharedLibrary() {
  dlclose(handle_);
}

void* SharedLibrary::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) {
    throw Error(ErrorKind::fault, what_ + " has no " + name, "device cuda",
                "install version 12 or newer, or use --device cpu");
  }
  return found;
}

}  // namespace scalecalc::tensor::cuda
