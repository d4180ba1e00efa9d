#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalecalc/layers/linear.hpp"

namespace scalecalc {

struct Layer;  // scalecalc/layers.hpp

/// y = sum_e w_e(x) F_e(x) over the `top_k` experts with the largest scores z = x W of a router
/// (mixture of experts, Shazeer et al. 2017): a token's own sum of some of the experts.
struct Experts {
  /// What a score becomes: its share in the softmax over all experts, or sigmoid(z).
  enum class Score { softmax, sigmoid };

  std::string path;
  Linear router;  ///< width -> experts
  std::int64_t top_k = 1;
  Score score = Score::softmax;
  bool normalised = true;                   ///< weights of the chosen are divided by their sum
  std::vector<std::vector<Layer>> experts;  ///< alike but for their draws
};

}  // namespace scalecalc
