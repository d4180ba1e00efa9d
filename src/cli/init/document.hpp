#pragma once

#include "scalecalc/export.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// Parameters that start alike as one row: parameters, of (how many), role, start, std, ...
report::Table grouped_parameters(const NamedPlan& plan);
/// The plan; parameter by parameter in JSON and CSV alone.
report::Document init_document(const NamedPlan& plan, report::Format format);

}  // namespace scalecalc::cli
