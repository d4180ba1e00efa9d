#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/layers/linear.hpp"

namespace scalecalc {

struct Layer;  // scalecalc/layers.hpp

/// c = G(F(e) + table[label]), one vector a sample, of the vector e that the network has for its
/// condition and of a label: what all modulations behind read. The stream goes by unchanged.
struct ConditionLayer {
  /// Its own parameter, path + ".class", unless there are no classes.
  enum Index : std::size_t { class_index };

  std::string path;
  std::vector<Layer> layers;     ///< F
  std::int64_t classes = 0;      ///< rows of the table of labels; 0: there is none
  std::int64_t width = 0;        ///< of c
  double class_std = 0.0;        ///< of the table
  std::vector<Layer> activated;  ///< G
};

/// y = x (1 + s) + t of a norm's output, or y = x s of a branch's, by feature: s = c W_s + b_s and
/// t = c W_t + b_t of the sample's condition c, the same for all of its tokens (adaLN, Peebles and
/// Xie 2023).
struct Modulation {
  std::string path;
  Linear factor;                ///< s
  std::optional<Linear> shift;  ///< t; without it y = x s
};

}  // namespace scalecalc
