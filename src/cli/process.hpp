#pragma once

#include <string>
#include <vector>

/// Programs beside this one, without a shell between.
namespace scalecalc::cli {

struct ProcessEnd {
  bool found = false;  ///< there is such a program
  int status = 0;      ///< 0 where it succeeded
  std::string out, err;
};
/// Runs it with `input` on its standard input and returns what it printed. Throws Error(fault)
/// where it cannot be started though it is there.
ProcessEnd run_process(const std::vector<std::string>& words, const std::string& input);
/// The same with this program's own standard output and error, while signals from the keyboard are
/// the other's.
ProcessEnd run_in_foreground(const std::vector<std::string>& words, const std::string& input);

}  // namespace scalecalc::cli
