#pragma once

#include "scalecalc/claims.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// Adds what became of the mutants of all claims: how many of each kind, and those that survived.
void add_mutants(const ClaimsReport& report, report::Document& document);

}  // namespace scalecalc::cli
