#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/report.hpp"
#include "scalecalc/scaling.hpp"

/// How the pairs of `deepnorm` are laid out, as JSON values and as sections for people.
namespace scalecalc::cli {

/// One stack and everything said about it.
struct StackAnswer {
  std::string name;  ///< encoder, decoder
  ScalingProblem problem;
  ScalingSolution solution;                ///< derived
  std::optional<PublishedPair> published;  ///< with --rule deepnet
  std::vector<InitEntry> init;
  std::string block;  ///< the one whose moments the warm-up takes: "gelu, layernorm, width 64"
};

/// The keys of `results` for one stack. Throws Error(usage) when more digits are asked than a
/// number without a closed form has.
report::Value stack_results(const StackAnswer& answer, int digits);
/// The same for people; `explain` adds the derivation.
std::vector<report::Section> stack_sections(const StackAnswer& answer, bool titled, bool explain,
                                            int digits);

}  // namespace scalecalc::cli
