#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// What a caller in the same process is given instead of output.
struct Reply {
  int code = 0;                              ///< 0, or 1 where a check failed
  std::optional<report::Document> document;  ///< its results are whole()
  std::string text;                          ///< of a command that writes one of its own: code
  std::vector<std::string> notes;            ///< what the program says on stderr
};

/// The same with every list made: it outlives the command.
report::Value whole(const report::Value& value);

}  // namespace scalecalc::cli
