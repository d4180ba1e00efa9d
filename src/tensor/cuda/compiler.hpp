#pragma once

#include <memory>
#include <string>

namespace scalecalc::tensor::cuda {

/// NVRTC, opened on construction. Throws Error(fault) when it is not there.
class Compiler {
 public:
  Compiler();
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Code that a device of this compute capability (90 for 9.0) runs: its own, or PTX where NVRTC
  /// is older than the device. Throws Error(fault) with what NVRTC says.
  std::string compile(const std::string& source, int capability) const;

 private:
  struct Library;
  std::unique_ptr<const Library> library_;
};

}  // namespace scalecalc::tensor::cuda
