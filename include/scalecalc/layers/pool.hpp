#pragma once

#include <cstdint>
#include <string>

namespace scalecalc {

/// The mean over the tokens of a sequence, or over some of them.
struct Pool {
  enum class Of {
    all,
    first,  ///< the first alone
    rest,   ///< those behind the class tokens
    last    ///< the last alone, with no class tokens in front
  };

  std::string path;
  Of of = Of::all;
  std::int64_t class_tokens = 0;  ///< as many stand in front
};

}  // namespace scalecalc
