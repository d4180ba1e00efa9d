#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scalecalc/export.hpp"

/// Targets that are settings of code which draws the weights itself.
namespace scalecalc::export_room {

/// What a framework's own code would give a parameter under some settings; nothing where it has no
/// such parameter.
struct OwnStart {
  double std = 0;
  bool is_truncated = false;
};
using OwnRule = std::function<OwnStart(const PlannedParameter&)>;

/// One line for each role whose plan differs from what the framework's own code draws:
/// "ffn_out: planned std 0.0041 (lambda*...), the settings give 0.02".
std::vector<std::string> differences(const NamedPlan& plan, const OwnRule& own);
/// The std that most weight matrices have that end no branch.
double common_std(const NamedPlan& plan);
/// Throws Error(usage) unless the model is a transformer.
void require_transformer(const NamedPlan& plan, const char* target);
/// Scales, residual attention and parallel blocks that such code does not have: "skip of
/// block[*].attn is 44.7 ((2*N)^(1/2))".
std::vector<std::string> foreign_scales(const NamedPlan& plan, bool unscaled_attention = false);

/// A line where the model drops elsewhere than the framework's own layer does.
std::vector<std::string> dropout_differences(const ModelSpec& spec, const DropoutPlaces& own);

/// A line for each part of the model that the framework's own layers and stem have not.
/// `reads_images`: its head reads the class token in front of patches; `has_relative_bias`: its
/// scores may have T5's learnt biases.
/// "llama3".
std::string scaling_name(const ModelSpec& spec);
/// What transformers' rope_parameters say of a scaling, as JSON; empty where there is none.
std::string rope_parameters(const ModelSpec& spec);
std::vector<std::string> part_differences(const ModelSpec& spec, bool reads_images = false,
                                          bool has_relative_bias = false);

/// "transformer, 12 layers, width 768, pre, 148 parameters" without a user's words.
std::string summary_of(const NamedPlan& plan);

std::string megatron_text(const NamedPlan& plan);
std::string hf_text(const NamedPlan& plan);
std::string c_text(const NamedPlan& plan);

}  // namespace scalecalc::export_room
