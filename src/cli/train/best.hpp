#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/json_form.hpp"
#include "scalecalc/plot.hpp"
#include "scalecalc/tuning.hpp"

/// `train --grid` with several placements: each at its own best, best with best.
namespace scalecalc::cli {

struct BestAnswer {
  std::vector<std::string> keys;  ///< of the grid
  std::vector<BestOfGrid> cells;
  std::int64_t vocab = 0;
  std::vector<BestRateLaw> rates = {};
};

report::Value best_value(const BestAnswer& answer);
/// The schema of that.
Shape best_shape();
/// How the best learning rates go with depth, one a placement.
report::Table rates_table(const BestAnswer& answer);
report::Value rates_value(const BestAnswer& answer);
Shape rates_shape();
/// A line a placement and depth.
report::Table best_rows(const BestAnswer& answer);
std::vector<report::Section> best_sections(const BestAnswer& answer);
/// Loss against the first key of the grid, the others at their best there: a panel a depth.
std::vector<report::Plot> best_plots(const BestAnswer& answer);

}  // namespace scalecalc::cli
