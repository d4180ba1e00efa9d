#pragma once

#include <string>

#include "scalecalc/passes.hpp"

namespace scalecalc::cli {

/// "12 s", "9 min", "3.5 h".
std::string duration_text(double seconds);

/// "the passes take 4.2e+15 operations and 27 GiB: about 9 min" at what a processor or a device
/// commonly reaches; empty where that is a few seconds on the processor. `device` is as --device
/// has it; which there are is asked where the work is long alone.
std::string work_note(const PassWork& work, int threads, const std::string& device);

}  // namespace scalecalc::cli
