#include <fmt/format.h>

#include <cmath>
#include <set>

#include "scalecalc/error.hpp"
#include "train/tuning_keys.hpp"

namespace scalecalc::train_room {
namespace {

[[noreturn]] void refuse_grid(const std::string& message, const std::string& hint) {
  throw Error(ErrorKind::input, message, "grid", hint);
}

void check_axis(const GridAxis& axis, std::size_t least, bool is_searched) {
  const TuningKey& key = tuning_key(axis.key, "grid");
  if (axis.values.size() < least)
    refuse_grid(fmt::format("{} has {} value{}", axis.key, axis.values.size(),
                            axis.values.size() == 1 ? "" : "s"),
                is_searched ? "a minimum needs three at least, for example lr=1e-4:1e-1:x2"
                            : "give one at least");
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    const double value = axis.values[i];
    if (i > 0 && !(value > axis.values[i - 1]))
      refuse_grid(axis.key + " does not rise", "give each value once, the least first");
    if (!(value >= key.least && value <= key.most))
      refuse_grid(fmt::format("{} is {}", axis.key, value),
                  fmt::format("use {} to {}", key.least, key.most));
    if (key.is_whole && value != std::round(value))
      refuse_grid(fmt::format("{} is {}", axis.key, value), "use whole numbers");
    if (is_searched && value <= 0)
      refuse_grid(axis.key + " is 0, and its logarithm is searched",
                  "use values above 0, or put another number first");
  }
}

}  // namespace

void check_grid(const std::vector<GridAxis>& grids, std::size_t least) {
  if (grids.empty()) refuse_grid("the grid is empty", "for example lr=1e-4:1e-1:x2");
  std::set<std::string> keys;
  for (const GridAxis& axis : grids) {
    const bool is_searched = least > 1 && &axis == &grids.front();
    check_axis(axis, is_searched ? least : 1, is_searched);
    if (!keys.insert(axis.key).second) refuse_grid(axis.key + " is given twice", "give it once");
  }
}

void set_numbers(const std::vector<std::pair<std::string, double>>& values,
                 const OptimizerOptions& of_base, OptimizerOptions& optimizer, ModelSpec& model) {
  for (const bool is_second : {false, true})
    for (const auto& [key, value] : values)
      if ((key == "rest-lr") == is_second) set_number(key, value, of_base, optimizer, model);
}

}  // namespace scalecalc::train_room
