#include <fmt/format.h>

#include <cmath>

#include "export/literals.hpp"
#include "export/settings.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::export_room {
namespace {

/// Flags that say the shape of the model.
std::vector<std::string> shape_flags(const ModelSpec& spec) {
  std::vector<std::string> flags = {
      fmt::format("--num-layers {}", spec.layers),
      fmt::format("--hidden-size {}", spec.width),
      fmt::format("--ffn-hidden-size {}", spec.ffn),
      fmt::format("--num-attention-heads {}", spec.heads),
      fmt::format("--seq-length {}", spec.sequence),
      fmt::format("--max-position-embeddings {}", spec.sequence),
      fmt::format("--hidden-dropout {}", number_literal(spec.dropout)),
      fmt::format("--attention-dropout {}", number_literal(spec.attention_dropout)),
      fmt::format("--norm-epsilon {}", number_literal(spec.norm_eps)),
      spec.norm == NormKind::rmsnorm ? "--normalization RMSNorm" : "--normalization LayerNorm"};
  if (spec.kv_heads > 0 && spec.kv_heads != spec.heads)
    flags.push_back(fmt::format("--group-query-attention --num-query-groups {}", spec.kv_heads));
  if (spec.head_width != 0) flags.push_back(fmt::format("--kv-channels {}", spec.head_width));
  if (spec.gated && spec.activation == "silu") flags.emplace_back("--swiglu");
  const Biases biases = biases_of(spec);
  if (!biases.o && !biases.ffn) flags.emplace_back("--disable-bias-linear");
  if (biases.qkv && !biases.o) flags.emplace_back("--add-qkv-bias");
  if (spec.qk_norm) flags.emplace_back("--qk-layernorm");
  if (spec.rotary_base != 0)
    flags.push_back(
        fmt::format("--position-embedding-type rope --rotary-base {:.0f} --rotary-percent {}",
                    spec.rotary_base, number_literal(spec.rotary_fraction)));
  if (!spec.tie_head) flags.emplace_back("--untie-embeddings-and-output-weights");
  return flags;
}

/// What of the model Megatron's own transformer layer cannot be told.
std::vector<std::string> shape_differences(const ModelSpec& spec) {
  std::vector<std::string> lines;
  if (spec.placement != Placement::pre)
    lines.push_back("placement: its layer is pre, this model is " + to_string(spec.placement));
  if (spec.norm != NormKind::layernorm && spec.norm != NormKind::rmsnorm)
    lines.push_back("norm: it has LayerNorm and RMSNorm, this model " + to_string(spec.norm));
  if (spec.rotary_base != std::floor(spec.rotary_base))
    lines.push_back(fmt::format("rotary_base: its flag takes whole numbers, this model has {}",
                                spec.rotary_base));
  if (spec.rotary.scaling != RotaryScaling::none)
    lines.push_back("rotary_scaling: these flags slow no positions, this model's are slowed by " +
                    scaling_name(spec));
  if (spec.rotary_local_base != 0)
    lines.push_back(
        fmt::format("rotary_local_base: it turns alike in all blocks, this model by base {} in "
                    "those with a window",
                    spec.rotary_local_base));
  const bool swiglu = spec.gated && spec.activation == "silu";
  const bool gelu = !spec.gated && (spec.activation == "gelu" || spec.activation == "gelu_tanh");
  if (!swiglu && !gelu)
    lines.push_back("activation: its flags know gelu and SwiGLU, this model has " +
                    comment_text(spec.activation) + (spec.gated ? ", gated" : ""));
  for (const auto& part : {part_differences(spec), dropout_differences(spec, {.input = true})})
    lines.insert(lines.end(), part.begin(), part.end());
  return lines;
}

}  // namespace

/// --init-method-std is the std of every matrix; what ends a branch is divided by sqrt(2 N)
/// (Shoeybi et al. 2019 and the code).
std::string megatron_text(const NamedPlan& plan) {
  require_transformer(plan, "megatron");
  const ModelSpec& spec = plan.spec;
  const double std = common_std(plan);
  const double residual = std / std::sqrt(2.0 * static_cast<double>(spec.layers));
  std::string text = fmt::format("# Megatron-LM flags for {} ({}).\n# Made by scalecalc {}.\n",
                                 comment_text(plan.model), summary_of(plan), report::version());
  for (const std::string& flag : shape_flags(spec)) text += flag + "\n";
  text += fmt::format("--init-method-std {}\n", number_literal(std));
  std::vector<std::string> lines = shape_differences(spec);
  const auto own = [&](const PlannedParameter& parameter) {
    const bool ends = parameter.role == "o" || parameter.role == "ffn_out";
    return OwnStart{parameter.is_matrix ? (ends ? residual : std) : 0, false};
  };
  for (auto part : {differences(plan, own), foreign_scales(plan)})
    lines.insert(lines.end(), part.begin(), part.end());
  if (lines.empty()) return text + "# These flags draw every weight as the plan has it.\n";
  text += "# What these flags cannot say:\n";
  for (const std::string& line : lines) text += "#   " + comment_text(line) + "\n";
  return text;
}

}  // namespace scalecalc::export_room
