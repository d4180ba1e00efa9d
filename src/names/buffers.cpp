#include "names/buffers.hpp"

#include <algorithm>
#include <vector>

namespace scalecalc::names {
namespace {

const std::vector<std::string>& buffer_endings() {
  static const std::vector<std::string> all = {".inv_freq",
                                               ".position_ids",
                                               ".token_type_ids",
                                               ".attn.bias",
                                               ".e_score_correction_bias",
                                               "final_logits_bias",
                                               ".masked_bias",
                                               ".num_batches_tracked",
                                               ".running_mean",
                                               ".running_var",
                                               ".relative_position_index",
                                               ".relative_coords_table",
                                               ".attn_mask"};
  return all;
}

}  // namespace

bool is_buffer(const std::string& name) {
  return std::any_of(buffer_endings().begin(), buffer_endings().end(),
                     [&](const std::string& ending) { return name.ends_with(ending); });
}

}  // namespace scalecalc::names
