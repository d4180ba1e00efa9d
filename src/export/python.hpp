#pragma once

#include <string>

#include "export/code_plan.hpp"

/// What the Python targets share.
namespace scalecalc::export_room {

/// A whole file: comment lines (what the model is, what made the file, what no parameter holds),
/// the imports, SEED, SCALES, PREFIXES, UNNAMED and RULES as assignments, what all targets share
/// (Report, _find(name), ...), and the target's own functions.
std::string python_text(const CodePlan& plan, const char* target, const ExportOptions& options,
                        const char* imports, const char* body);

std::string pytorch_text(const CodePlan& plan, const ExportOptions& options);
std::string flax_text(const CodePlan& plan, const ExportOptions& options);
std::string keras_text(const CodePlan& plan, const ExportOptions& options);

}  // namespace scalecalc::export_room
