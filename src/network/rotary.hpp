#pragma once

#include <optional>
#include <vector>

#include "network/field_lists.hpp"
#include "network/validate.hpp"

namespace scalecalc {

/// Rotary positions of one attention.
struct RotarySizes {
  double base, fraction;
  std::int64_t head_width, tokens;
  const RotaryStretch& stretch;
};
/// Why these do not fit together, with what would.
std::optional<SpecProblem> rotary_problem(const RotarySizes& of);
/// Of sizes without a problem.
Rotary rotary(const RotarySizes& of);

/// Of a transformer's rotary positions.
std::optional<SpecProblem> rotary_problem(const ModelSpec& spec);
std::vector<ModelField> rotary_fields();
/// longrope's numbers as they are. Throws Error(input) where they are none.
std::string checked_factors(const std::string& text, const std::string& where);

}  // namespace scalecalc
