#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scalecalc/tuning.hpp"

namespace scalecalc::train_room {

/// Sets the number of that key in what is trained. `of_base` is the optimizer before any key was
/// set: the rates of a mixture keep their ratio there. Throws Error(input) where the optimizer, or
/// the model, has no such number.
void set_number(const std::string& key, double value, const OptimizerOptions& of_base,
                OptimizerOptions& optimizer, ModelSpec& model);

/// All of a point, the rate of a mixture's second optimizer last, which else follows the first.
void set_numbers(const std::vector<std::pair<std::string, double>>& values,
                 const OptimizerOptions& of_base, OptimizerOptions& optimizer, ModelSpec& model);

/// Throws Error(input) for an empty grid, for keys twice or without a name, for values out of
/// range, not rising or fewer than `least` of the first; of three or more a minimum is searched by
/// the logarithm, so that they are above 0.
void check_grid(const std::vector<GridAxis>& grids, std::size_t least);

/// `visit(values)` with those of every point of the grid, the first key fastest.
template <class Visit>
void each_point(const std::vector<GridAxis>& grids, const Visit& visit) {
  std::vector<std::size_t> at(grids.size(), 0);
  for (;;) {
    std::vector<std::pair<std::string, double>> values;
    for (std::size_t i = 0; i < grids.size(); ++i)
      values.emplace_back(grids[i].key, grids[i].values[at[i]]);
    visit(values);
    std::size_t next = 0;
    while (next < grids.size() && ++at[next] == grids[next].values.size()) at[next++] = 0;
    if (next == grids.size()) return;
  }
}

}  // namespace scalecalc::train_room
