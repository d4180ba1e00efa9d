#pragma once

#include "scalecalc/export.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// The plan; parameter by parameter in JSON and CSV alone.
report::Document init_document(const NamedPlan& plan, report::Format format);

}  // namespace scalecalc::cli
