#pragma once

#include <string>
#include <vector>

#include "cli/reply.hpp"
#include "scalecalc/verify.hpp"

/// The commands for a caller in the same process: their options, checks, errors and results are
/// those of the program, and nothing is printed.
namespace scalecalc::cli {

/// Runs the command that `words` begin with: {"deepnorm", "--layers=1000"}. `progress` is told of
/// long work on any thread, and stops it by false, as base::request_stop() does. One call at a
/// time. Throws Error, and base::Stopped.
Reply call(const std::vector<std::string>& words, const Progress& progress = {});

}  // namespace scalecalc::cli
