#pragma once

#include <vector>

#include "scalecalc/report.hpp"
#include "scalecalc/scaling.hpp"

/// How `deepnorm --method exact` shows the pair solved for one block beside the power law.
namespace scalecalc::cli {

struct ExactAnswer {
  ExactSolution solution;
  std::vector<DepthProfile> schemes;  ///< with --explain
};

/// Puts the solved pair over the power law's in `results`, which keeps that as "power_law".
void put_exact_results(const ExactAnswer& answer, report::Value& results);
std::vector<report::Section> exact_sections(const ExactAnswer& answer);

}  // namespace scalecalc::cli
