#pragma once

#include <string>

namespace scalecalc {

/// Inverted: kept entries are divided by 1 - rate.
struct Dropout {
  std::string path;
  double rate = 0.0;
};

}  // namespace scalecalc
