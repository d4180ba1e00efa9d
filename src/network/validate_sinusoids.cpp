#include <fmt/format.h>

#include <cmath>

#include "network/validate.hpp"

namespace scalecalc {

/// Fixed positions of a square grid of patches: sines and cosines of its rows and of its columns.
std::optional<SpecProblem> find_sinusoids_problem(const ModelSpec& spec) {
  if (!spec.input.sinusoids) return {};
  const bool is_stack = spec.kind == ModelSpec::Kind::transformer && !spec.encoder_decoder;
  if (!is_stack || spec.input.kind != InputKind::gaussian)
    return SpecProblem{{"input.sinusoids", "input.kind"},
                       "sinusoids are of the gaussian input of one stack, patches of an image",
                       "use kind = \"gaussian\", or leave it out"};
  if (spec.input.positions != 0)
    return SpecProblem{{"input.sinusoids", "input.positions"},
                       "sinusoids stand in the place of learned positions",
                       "leave one of the two out"};
  if (spec.class_tokens != 0)
    return SpecProblem{{"input.sinusoids", "class_tokens"},
                       "class tokens have no place in the grid that sinusoids are of",
                       "leave one of the two out"};
  if (spec.width % 4 != 0)
    return SpecProblem{{"input.sinusoids", "width"},
                       fmt::format("sines and cosines of rows and of columns are four parts of a "
                                   "width (width {})",
                                   spec.width),
                       "use a multiple of 4"};
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(spec.sequence)));
  if (side * side == spec.sequence) return {};
  return SpecProblem{
      {"input.sinusoids", "sequence"},
      fmt::format("sinusoids are of a square grid, and {} patches are none", spec.sequence),
      fmt::format("use sequence = {}", side * side)};
}

}  // namespace scalecalc
