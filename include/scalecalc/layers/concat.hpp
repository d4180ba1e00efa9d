#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scalecalc {

struct Layer;  // scalecalc/layers.hpp

/// y = (x, body(x)): the features of x and behind them those of the body, which keeps the tokens.
struct Concat {
  std::string path;
  std::vector<Layer> body;
  std::int64_t stream = 0, branch = 0;  ///< features of x and of the body's output
};

}  // namespace scalecalc
