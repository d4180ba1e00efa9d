#include <fmt/format.h>

#include "network/validate.hpp"

namespace scalecalc {
namespace {

/// What a modulated transformer cannot have, and why.
struct Beside {
  bool given;
  const char *field, *why, *hint;
};

/// adaLN is the gain and shift of norms over one token's features in front of branches, and what it
/// adds to gradients is known of a head that reads every token.
std::optional<SpecProblem> other_layers_problem(const ModelSpec& spec) {
  const bool over_token = spec.norm == NormKind::layernorm || spec.norm == NormKind::rmsnorm;
  for (const Beside& beside :
       {Beside{spec.placement != Placement::pre, "placement", "it is of norms in front of branches",
               "use placement = \"pre\""},
        Beside{!over_token, "norm", "it multiplies norms of one token's features",
               "use norm = \"layernorm\" or \"rmsnorm\""},
        Beside{spec.norm_affine, "norm_affine", "it is the gain and the shift of the norms",
               "leave norm_affine out"},
        Beside{spec.layer_scale != 0, "layer_scale", "it multiplies the branches itself",
               "leave layer_scale out"},
        Beside{spec.drop_path != 0, "drop_path",
               "no rule covers gates of branches that samples lose", "leave drop_path out"},
        Beside{spec.encoder_decoder, "encoder_decoder", "no rule covers a condition of two stacks",
               "leave encoder_decoder out"},
        Beside{spec.parallel, "parallel", "no rule covers gates of branches that share a norm",
               "leave parallel out"},
        Beside{spec.tie_head, "tie_head",
               "no rule covers a tied head behind a norm that it modulates", "leave tie_head out"},
        Beside{spec.head_transform, "head_transform",
               "it is of the norm right in front of the head", "leave head_transform out"},
        Beside{spec.pool != Pooling::none, "pool",
               "no rule covers the gradients of its maps where the head reads some tokens more "
               "than others",
               "leave pool out"},
        Beside{spec.class_tokens > 0, "class_tokens",
               "no rule covers the gradients of its maps where tokens are of two kinds",
               "leave class_tokens out"}})
    if (beside.given)
      return SpecProblem{{beside.field, "modulation"},
                         fmt::format("modulation {} has no place for {}: {}",
                                     to_string(spec.modulation), beside.field, beside.why),
                         std::string(beside.hint) + ", or modulation = \"none\""};
  return {};
}

}  // namespace

std::optional<SpecProblem> find_modulation_problem(const ModelSpec& spec) {
  if (spec.kind != ModelSpec::Kind::transformer || spec.modulation == AdaptiveNorm::none) return {};
  if (std::optional<SpecProblem> problem = other_layers_problem(spec)) return problem;
  if (spec.modulation == AdaptiveNorm::adaln_zero && spec.init.gain.count("modulation") > 0)
    return SpecProblem{{"init.gain.modulation", "modulation"},
                       "modulation adaln-zero starts its maps at 0, which no gain multiplies",
                       "leave the gain out, or use modulation = \"adaln\""};
  const ModelSpec::Condition& of = spec.condition;
  if (of.cross >= 0 && of.cross <= of.second) return {};
  return SpecProblem{
      {"condition.cross", "condition.second"},
      fmt::format("cross must be from 0 to second = {}, got {}", of.second, of.cross),
      "cross = 0 makes conditions independent, cross = second makes them equal"};
}

}  // namespace scalecalc
