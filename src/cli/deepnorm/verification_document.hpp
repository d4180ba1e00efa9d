#pragma once

#include <string>
#include <vector>

#include "scalecalc/report.hpp"
#include "scalecalc/verify.hpp"

/// How the measurements of `deepnorm --verify` are laid out.
namespace scalecalc::cli {

report::Value verification_results(const ScalingVerification& verification);
std::vector<report::Section> verification_sections(const ScalingVerification& verification,
                                                   const std::string& optimizer);

}  // namespace scalecalc::cli
