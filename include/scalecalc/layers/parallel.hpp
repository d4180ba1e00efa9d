#pragma once

#include <string>
#include <vector>

namespace scalecalc {

struct Layer;  // scalecalc/layers.hpp

/// y = F_1(x) + F_2(x) + ...: branches that read the same x.
struct Parallel {
  std::string path;
  std::vector<std::vector<Layer>> branches;
};

}  // namespace scalecalc
