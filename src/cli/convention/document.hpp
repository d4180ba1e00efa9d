#pragma once

#include "scalecalc/conventions.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// What one line really draws, as results, for people, and as one row a tensor.
report::Document convention_document(const ConventionRequest& request, const Convention& answer);

/// The catalogue: one row an example.
report::Document convention_catalogue();

}  // namespace scalecalc::cli
