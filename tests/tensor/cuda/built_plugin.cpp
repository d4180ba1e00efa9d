#include "scalecalc/tensor.hpp"

namespace scalecalc {
namespace {

#ifdef SCALECALC_CUDA_PLUGIN
[[maybe_unused]] const bool is_named = (use_cuda_plugin({SCALECALC_CUDA_PLUGIN}), true);
#endif

}  // namespace
}  // namespace scalecalc
