#pragma once

#include <optional>
#include <string>

#include "scalecalc/export.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// The plan, and the code of a target beside it; parameter by parameter in JSON and CSV alone.
report::Document init_document(const NamedPlan& plan, const std::optional<std::string>& target,
                               const std::string& code, report::Format format);

}  // namespace scalecalc::cli
