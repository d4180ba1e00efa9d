#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/symbolic.hpp"

/// The devices that passes can run on, and the update rules that they know.
namespace scalecalc {

/// A matrix the caller may read during a callback. Row-major, contiguous.
template <class Real>
struct MatrixView {
  const Real* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t size() const { return rows * columns; }
};

/// A machine that passes can run on. Sizes in bytes; what is not known is empty or 0.
struct DeviceInfo {
  std::string name;   ///< what `device` takes: "cpu", "cuda:0"; "cuda" when there is none
  std::string model;  ///< as its maker calls it
  int threads = 0;    ///< of a CPU
  std::size_t memory_total = 0, memory_free = 0;
  std::string capability;       ///< "9.0", or what vectors the kernels use
  std::string products;         ///< of a CPU: the libraries that multiply its matrices
  std::string driver, runtime;  ///< CUDA versions: of the driver, and built against
  std::string why_none;         ///< in words, when it cannot be used
  bool available() const { return why_none.empty(); }
};
/// Where CUDA comes from: `scalecalc_cuda.so` of this very version, the first of `paths` (absolute
/// ones) that is there. It is opened when a CUDA device is first asked for, and stays; without this
/// call there is none.
void use_cuda_plugin(std::vector<std::string> paths);
/// The CPU, then every CUDA device, or one entry that says why there is none.
std::vector<DeviceInfo> devices();
/// Whether passes on the device of this name run on the CPU; auto: where no other is available.
bool runs_on_cpu(const std::string& device);
/// Throws Error(input) naming `where` for what can be no device's name; the device need not exist.
void check_device_name(const std::string& name, const std::string& where = "device");

/// One matrix update by a rule in the symbols g (gradient) and theta (parameter), without its
/// -eta: "g", "sign(g)", "rms(theta)*sign(g)", "norm(theta)*g/norm(g)", "orthogonal(g)",
/// "g/global_norm(g)". sign acts by entry; norm is Frobenius, rms is norm/sqrt(entries);
/// orthogonal(g) is U V^T of g = U S V^T; global_norm runs over all parameters, passed in.
/// Writes rows*columns values to `out`. Throws Error(input) for a rule it cannot read.
template <class Real>
void update_direction(const Expr& rule, MatrixView<Real> parameter, MatrixView<Real> gradient,
                      double global_norm, Real* out);
extern template void update_direction<float>(const Expr&, MatrixView<float>, MatrixView<float>,
                                             double, float*);
extern template void update_direction<double>(const Expr&, MatrixView<double>, MatrixView<double>,
                                              double, double*);
/// Whether the rule needs the norm over all parameters before any matrix can be updated.
bool uses_global_norm(const Expr& rule);

}  // namespace scalecalc
