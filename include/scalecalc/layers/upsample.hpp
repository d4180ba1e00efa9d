#pragma once

#include <cstdint>
#include <string>

namespace scalecalc {

/// Nearest neighbours: every position of an image becomes factor x factor equal ones. Tokens are
/// the positions of one image, row by row.
struct Upsample {
  std::string path;
  std::int64_t channels = 0, factor = 2;
  std::int64_t height = 0, width = 0;  ///< of the input
  std::int64_t out_height() const { return factor * height; }
  std::int64_t out_width() const { return factor * width; }
};

}  // namespace scalecalc
