#pragma once

#include <string>
#include <vector>

#include "cli/audit/document.hpp"
#include "cli/model_options.hpp"

namespace scalecalc::cli {

/// Names of --against: library, hf, openai, model, derived.
std::vector<std::string> rules_to_judge_by();

/// Finds the model of the answer's weights (the one that is given, the config beside them, or what
/// their names and shapes say) and judges them by the rules `against`; empty: the library's where
/// it is known, else the model's. Throws Error, for rules that this model has not too.
void judge_weights(const ModelArgument& given, const std::string& against, AuditAnswer& answer);

}  // namespace scalecalc::cli
