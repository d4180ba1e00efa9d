#pragma once

#include <string>
#include <vector>

namespace scalecalc::tensor::cuda {

/// A library that is opened while the program runs, so that the program starts without it.
class SharedLibrary {
 public:
  /// The first of `names` that can be opened: by the system's search, then where the toolkit puts
  /// it. Throws Error(fault) saying why none can.
  SharedLibrary(const std::string& what, const std::vector<std::string>& names);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// Throws Error(fault) when the library has no such function.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  std::string what_;
  void* handle_ = nullptr;
};

}  // namespace scalecalc::tensor::cuda
