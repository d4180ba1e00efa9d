#pragma once

#include "scalecalc/claims.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// `mutate`: with what became of the mutants.
report::Document check_document(const ClaimsReport& report, bool mutate = false);

/// "proved, quadrature, montecarlo": what each method adds.
std::string methods_text(const ClaimResult& claim);

}  // namespace scalecalc::cli
