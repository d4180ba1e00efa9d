#include "tensor/cuda/plugin.hpp"

extern "C" const ScalecalcPlugin* scalecalc_plugin();

namespace scalecalc::tensor {
namespace {

[[maybe_unused]] const bool is_linked =
    (use_cuda_plugin(*static_cast<const CudaPlugin*>(scalecalc_plugin())), true);

}  // namespace
}  // namespace scalecalc::tensor
