#pragma once

#include <string>

namespace scalecalc {

/// The mean over the tokens of a sequence.
struct Pool {
  std::string path;
};

}  // namespace scalecalc
