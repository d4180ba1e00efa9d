#pragma once

#include <cstdint>
#include <vector>

#include "../../tests/agreement/calibration.hpp"

/// What the programs of verify's promise share: lines of results, and lists of what fails.
namespace scalecalc::bench {

/// Shares of `trials` that fail and that are refused, and the width of their bands.
void print_shares(const std::string& work, const std::vector<random_models::Trial>& trials);

/// The first of these shares alone.
void print_failing(const std::string& work, const std::vector<random_models::Trial>& trials);

/// On stderr: the models that fail at repeat_factor times the seeds too, by what is off; of each
/// group the smallest model's file.
void list_failures(const std::vector<random_models::Trial>& trials);
/// On stderr: why models are refused, the most frequent reason first.
void list_refusals(const std::vector<random_models::Trial>& trials);

/// On stderr: where the bands beyond the goal of 15 standard errors are, and in which models.
void list_wide_bands(const std::vector<random_models::Trial>& trials);

/// Every preset at three smaller widths.
struct SmallPreset {
  std::string name;
  ModelSpec spec;
};
std::vector<SmallPreset> small_presets();

}  // namespace scalecalc::bench
