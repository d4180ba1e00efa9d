#pragma once

#include <string>

#include "cli/choose/answers.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// "scalecalc init pre-ln-12 --layers 24 ... --target pytorch -o scalecalc_init.py".
std::string init_command(const Choice& choice);
/// The commands, and the numbers and the code that they give.
report::Document choose_document(const Choice& choice);

}  // namespace scalecalc::cli
