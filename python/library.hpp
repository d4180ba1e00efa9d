#pragma once

#include <string>
#include <vector>

#include "cli/reply.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/verify.hpp"

/// What libscalecalc.so shows: the commands, for the Python module and for the package's program.
/// Everything else in it is hidden.
#define SCALECALC_SHOWN [[gnu::visibility("default")]]

namespace scalecalc::package {

/// As cli::call.
SCALECALC_SHOWN cli::Reply call(const std::vector<std::string>& words, const Progress& progress);
/// As base::request_stop and base::allow_work.
SCALECALC_SHOWN void request_stop() noexcept;
SCALECALC_SHOWN void allow_work() noexcept;
/// A formula in the notation of LaTeX. Throws Error(input).
SCALECALC_SHOWN std::string latex(const std::string& formula);
SCALECALC_SHOWN const char* version();
/// As cli::run.
SCALECALC_SHOWN int run(int argc, char** argv);

}  // namespace scalecalc::package
