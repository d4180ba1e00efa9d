#include "network/validate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "network/frames.hpp"
#include "network/weights.hpp"
#include "scalecalc/names.hpp"

namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;
using Kind = ModelSpec::Kind;

bool needs_norm(Placement placement) {
  switch (placement) {
    case Placement::post:
    case Placement::pre:
    case Placement::res_post:
    case Placement::sandwich:
    case Placement::sub_ln:
    case Placement::resi_dual:
    case Placement::branchnorm:
    case Placement::ngpt: return true;
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup:
    case Placement::none: break;
  }
  return false;
}

/// Whether the placement has a use for alpha.
bool has_alpha(const ModelSpec& spec) {
  switch (spec.placement) {
    case Placement::sub_ln:
    case Placement::resi_dual:
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup: return false;
    case Placement::none: return spec.kind != Kind::mlp;
    case Placement::post:
    case Placement::pre:
    case Placement::res_post:
    case Placement::sandwich:
    case Placement::branchnorm:
    case Placement::ngpt: break;
  }
  return true;
}

Problem mlp_placement_problem(const ModelSpec& spec) {
  if (spec.kind != Kind::mlp) return {};
  if (spec.placement == Placement::sub_ln)
    return SpecProblem{{"placement"},
                       "placement sub-ln norms before an output projection, which a layer of an "
                       "mlp has not",
                       "use post, pre, res-post, sandwich or none"};
  if (spec.placement == Placement::fixup)
    return SpecProblem{{"placement"},
                       "placement fixup needs two matrices in a branch, and a layer of an mlp has "
                       "one",
                       "use rezero, skipinit, pre or none"};
  if (spec.placement == Placement::resi_dual && spec.layers < 2)
    return SpecProblem{{"layers", "placement"},
                       "placement resi-dual needs a residual layer, and the first layer of an mlp "
                       "is none",
                       "use layers = 2"};
  return {};
}

/// A ramp multiplies branches that no trained scalar does.
Problem ramp_problem(const ModelSpec& spec) {
  if (spec.ramp == 1) return {};
  const std::string name = to_string(spec.placement);
  if (spec.placement == Placement::rezero || spec.placement == Placement::skipinit)
    return SpecProblem{{"ramp", "placement"},
                       "branches of placement " + name + " grow by a scalar that is trained from 0",
                       "leave ramp out, or use placement = \"none\""};
  if (spec.layer_scale != 0)
    return SpecProblem{{"ramp", "layer_scale"},
                       "a ramp and layer_scale both multiply the branches",
                       "leave one of them out"};
  if (spec.kind == Kind::mlp && spec.placement == Placement::none)
    return SpecProblem{{"ramp", "placement"},
                       "a plain stack has no branches that a ramp could multiply",
                       "leave ramp out, or use a placement with branches"};
  return {};
}

Problem placement_problem(const ModelSpec& spec) {
  const std::string name = to_string(spec.placement);
  if (spec.kind == Kind::layers) return {};
  if (needs_norm(spec.placement) && spec.norm == NormKind::none)
    return SpecProblem{{"norm", "placement"},
                       "placement " + name + " needs a norm, and norm is none",
                       "use norm = \"layernorm\" or \"rmsnorm\", or placement = \"none\""};
  if (Problem problem = mlp_placement_problem(spec)) return problem;
  if (!has_alpha(spec) && spec.alpha && !spec.alpha->is_one())
    return SpecProblem{{"alpha", "placement"},
                       fmt::format("alpha has nothing to multiply in {} of placement {}, got {}",
                                   spec.kind == Kind::mlp ? "an mlp" : "a transformer", name,
                                   to_string(*spec.alpha)),
                       "use alpha = 1"};
  return ramp_problem(spec);
}

/// What is 1 and a parameter is a trained gain.
Problem gain_offset_problem(const ModelSpec& spec) {
  if (spec.gain_offset && !spec.norm_affine && spec.kind != Kind::layers)
    return SpecProblem{{"gain_offset", "norm_affine"},
                       "gain_offset is of trained gains, and norm_affine is false",
                       "use norm_affine = true, or leave it out"};
  return {};
}

/// Vectors of branches that nothing else multiplies.
Problem layer_scale_problem(const ModelSpec& spec) {
  if (spec.layer_scale == 0) return {};
  switch (spec.placement) {
    case Placement::post:
    case Placement::pre:
    case Placement::sub_ln:
    case Placement::none: return {};
    default: break;
  }
  return SpecProblem{{"layer_scale", "placement"},
                     "layer_scale multiplies branches, and placement " + to_string(spec.placement) +
                         " has a rule of its own for them",
                     "use placement = \"pre\", post, sub-ln or none, or leave layer_scale out"};
}

/// Whether a norm stands inside the branches, which each of them can have for itself.
bool norms_branches(Placement placement) {
  return placement == Placement::pre || placement == Placement::sub_ln ||
         placement == Placement::res_post || placement == Placement::sandwich ||
         placement == Placement::ngpt;
}

Problem branch_norms_problem(const ModelSpec& spec) {
  if (!spec.branch_norms) return {};
  if (!spec.parallel)
    return SpecProblem{{"branch_norms", "parallel"},
                       "branch_norms is of parallel blocks, and branches that follow each other "
                       "have norms of their own",
                       "leave branch_norms out, or use parallel = true"};
  if (norms_branches(spec.placement)) return {};
  return SpecProblem{{"branch_norms", "placement"},
                     "placement " + to_string(spec.placement) +
                         " has no norm inside a branch that branch_norms could repeat",
                     "leave branch_norms out, or use pre, sub-ln, res-post, sandwich or ngpt"};
}

Problem qk_norm_problem(const ModelSpec& spec) {
  if (!spec.qk_norm_all || spec.qk_norm) return {};
  return SpecProblem{{"qk_norm_all", "qk_norm"},
                     "qk_norm_all says what norms of q and k are over, and there are none",
                     "use qk_norm = true, or leave qk_norm_all out"};
}

/// What experts have needs experts.
Problem experts_problem(const ModelSpec& spec) {
  const auto refuse = [](const char* field, const char* other, const std::string& what,
                         const std::string& hint) {
    return SpecProblem{{field, other}, what, hint};
  };
  if (spec.shared_gate && spec.shared_ffn == 0)
    return refuse("shared_gate", "shared_ffn",
                  "shared_gate multiplies a shared expert, and there is none",
                  "use shared_ffn = 256, or leave shared_gate out");
  if (spec.experts > 0) {
    // Every expert is a layer with parameters of its own: some 0.2 ms of a prediction each.
    constexpr std::int64_t most = 262144;
    if (spec.experts > most / spec.layers)
      return refuse(
          "experts", "layers",
          fmt::format("all blocks together have at most {} experts (experts {}, layers {})", most,
                      spec.experts, spec.layers),
          "use fewer of one of them");
    if (spec.top_k <= spec.experts) return {};
    return refuse("top_k", "experts",
                  fmt::format("top_k is at most the number of experts (top_k {}, experts {})",
                              spec.top_k, spec.experts),
                  fmt::format("use top_k = {}", spec.experts));
  }
  const ModelSpec none;
  const char* given = spec.expert_ffn != 0                         ? "expert_ffn"
                      : spec.shared_ffn != 0                       ? "shared_ffn"
                      : spec.top_k != none.top_k                   ? "top_k"
                      : spec.norm_topk_prob != none.norm_topk_prob ? "norm_topk_prob"
                                                                   : nullptr;
  if (given == nullptr) return {};
  return refuse(given, "experts",
                std::string(given) + " is of a mixture of experts, and this model has one ffn",
                "use experts = 8, or leave it out");
}

/// What a norm divides by must not be 0 whatever the input.
Problem norm_problem(const ModelSpec& spec) {
  if (spec.kind != Kind::layers && spec.norm != NormKind::dyt && spec.norm_alpha != 0.5)
    return SpecProblem{{"norm_alpha", "norm"},
                       "norm_alpha is of norm dyt, and norm is " + to_string(spec.norm),
                       "use norm = \"dyt\", or leave norm_alpha out"};
  std::int64_t narrowest = std::min(spec.width, table_width(spec));
  if (spec.placement == Placement::sub_ln)
    narrowest = std::min({narrowest, spec.ffn, spec.heads * head_width(spec)});
  for (const std::int64_t inside : {spec.expert_ffn, spec.shared_ffn})
    if (spec.placement == Placement::sub_ln && inside > 0) narrowest = std::min(narrowest, inside);
  if (spec.norm == NormKind::dyt && spec.placement == Placement::resi_dual)
    return SpecProblem{{"norm", "placement"},
                       "placement resi-dual adds up two streams of one size, which dyt does not "
                       "give them",
                       "use norm = \"layernorm\" or \"rmsnorm\", or another placement"};
  if (spec.norm == NormKind::layernorm && spec.kind != Kind::layers && narrowest < 2)
    return SpecProblem{{"width", "ffn", "head_width", "norm"},
                       "layernorm of a single feature is always 0",
                       "use width = 2 or more, or norm = \"rmsnorm\""};
  const bool over_batch = spec.norm == NormKind::batchnorm;
  const std::int64_t samples = over_batch
                                   ? spec.sequence * spec.batch
                                   : (spec.norm == NormKind::instancenorm ? spec.sequence : 2);
  if (samples < 2)
    return SpecProblem{{"sequence", "batch", "norm"},
                       to_string(spec.norm) + " of a single sample is always 0",
                       over_batch ? "use a larger batch" : "use a longer sequence"};
  return {};
}

/// Its values are find_scale_problem's.
Problem norm_scale_place_problem(const ModelSpec& spec) {
  if (spec.kind != Kind::transformer || spec.norm_scale.is_one()) return {};
  if (spec.norm == NormKind::dyt)
    return SpecProblem{{"norm_scale", "norm"},
                       "norm_scale is of norms, and dyt is none",
                       "use norm = \"rmsnorm\", or leave norm_scale out"};
  if (spec.placement != Placement::pre)
    return SpecProblem{{"norm_scale", "placement"},
                       "norm_scale is of the norms in front of branches alone, and placement " +
                           to_string(spec.placement) + " has others",
                       "use placement = \"pre\", or leave norm_scale out"};
  if (!spec.alpha || !spec.lambda)
    return SpecProblem{{"norm_scale", spec.alpha ? "lambda" : "alpha"},
                       std::string(spec.alpha ? "lambda" : "alpha") +
                           " = \"auto\" is solved for blocks that are alike, and norm_scale is "
                           "not the same in all",
                       "give a number or a formula in N, or leave norm_scale out"};
  return {};
}

Problem dropout_problem(const ModelSpec& spec) {
  const DropoutPlaces& place = spec.dropout_place;
  if (!place.input && !place.branch && !place.activation && !place.stream)
    return SpecProblem{{"dropout_place"}, "dropout_place names no place", "use branch"};
  if (place.activation && spec.kind == Kind::mlp)
    return SpecProblem{{"dropout_place"},
                       "a branch of an mlp ends in its activation, so dropout there is that of the "
                       "branch",
                       "use dropout_place = \"branch\""};
  if (place.stream && spec.placement == Placement::resi_dual)
    return SpecProblem{{"dropout_place", "placement"},
                       "placement resi-dual has two streams, and dropout_place stream means one",
                       "use dropout_place = \"branch\""};
  if (spec.drop_path > 0 && spec.kind == Kind::mlp && spec.placement == Placement::none)
    return SpecProblem{{"drop_path", "placement"},
                       "an mlp of placement none has no branches to drop",
                       "leave drop_path out, or use placement = \"pre\""};
  if (spec.drop_path > 0 && spec.placement == Placement::resi_dual)
    return SpecProblem{{"drop_path", "placement"},
                       "how placement resi-dual scales the two streams of a dropped branch has no "
                       "rule",
                       "leave drop_path out, or use placement = \"pre\""};
  if (place.stream && spec.kind == Kind::mlp && spec.placement == Placement::none)
    return SpecProblem{{"dropout_place", "placement"},
                       "an mlp of placement none has no stream to drop from",
                       "use dropout_place = \"branch\", or placement = \"pre\""};
  return {};
}

Problem cross_problem(const std::string& section, double second, double cross) {
  if (cross >= 0 && cross <= second) return {};
  return SpecProblem{{section + ".cross", section + ".second"},
                     fmt::format("cross must be from 0 to second = {}, got {}", second, cross),
                     "cross = 0 makes tokens independent, cross = second makes them equal"};
}

Problem input_problem(const ModelSpec& spec) {
  const ModelSpec::Input& input = spec.input;
  if (Problem problem = cross_problem("input", input.second, input.cross)) return problem;
  if (input.norm.value_or(false) && spec.norm == NormKind::none)
    return SpecProblem{{"input.norm", "norm"},
                       "a norm behind the input needs a kind of norm, and the model has none",
                       "use norm = \"layernorm\", or leave it out"};
  const bool is_stack = spec.kind == Kind::transformer && !spec.encoder_decoder;
  if (input.patch > 0 && (input.kind == InputKind::tokens || !is_stack))
    return SpecProblem{{"input.patch", "input.kind"},
                       "patch is of the gaussian input of one stack",
                       "use kind = \"gaussian\", or leave it out"};
  if (input.embedding_width > 0 && spec.encoder_decoder)
    return SpecProblem{{"input.embedding_width", "encoder_decoder"},
                       "embedding_width is of one stack",
                       "leave one of the two out"};
  if (input.kind == InputKind::gaussian) {
    for (const auto& [field, value] :
         {std::pair{"zipf", input.zipf},
          {"positions", is_stack ? 0 : input.positions},
          {"segments", static_cast<double>(input.segments)},
          {"embedding_width", static_cast<double>(input.embedding_width)},
          {"multiplier", input.multiplier - 1}})
      if (value != 0)
        return SpecProblem{{std::string("input.") + field, "input.kind"},
                           std::string(field) + " belongs to tokens, and the input is gaussian",
                           "use kind = \"tokens\", or leave it out"};
    return {};
  }
  if (spec.kind == Kind::mlp)
    return SpecProblem{
        {"input.kind"}, "an mlp reads gaussian inputs, not tokens", "use kind = \"gaussian\""};
  if (input.cross != 0)
    return SpecProblem{
        {"input.cross"},
        "cross of tokens follows from the vocabulary (second/vocab), it cannot be set",
        "leave cross out, or use kind = \"gaussian\""};
  return {};
}

Problem init_problem(const ModelSpec& spec) {
  const ModelSpec::Init& init = spec.init;
  const std::vector<std::string>& names = scheme_names();
  if (init.scheme == "std") {
    if (Problem problem = positive_problem("init.scheme.std", init.std)) return problem;
  } else if (init.scheme == "weight_variance") {
    if (Problem problem = positive_problem("init.weight_variance", init.weight_variance))
      return problem;
  } else if (std::find(names.begin(), names.end(), init.scheme) == names.end()) {
    return problem_from("init.scheme", unknown_name("scheme", init.scheme, names, {}));
  } else if (spec.kind != Kind::transformer && is_transformer_scheme(init.scheme)) {
    return SpecProblem{{"init.scheme"},
                       "scheme " + init.scheme + " is defined by the parts of a transformer",
                       "use lecun, xavier, he or { std = 0.02 } for an mlp"};
  }
  if (!init.names.empty() &&
      std::find(naming_names().begin(), naming_names().end(), init.names) == naming_names().end())
    return problem_from("init.names", unknown_name("naming", init.names, naming_names(), {}));
  if (init.bias_variance > 0 && !spec.bias && !biases_of(spec).any())
    return SpecProblem{{"init.bias_variance"},
                       "bias_variance is given but the model has no biases",
                       "use bias = true, or leave bias_variance out"};
  return {};
}

Problem activation_problem(const ModelSpec& spec) {
  try {
    check_activation(spec.activation);
    return {};
  } catch (const Error& error) {
    return problem_from("activation", error);
  }
}

Problem rest_problem(const ModelSpec& spec) {
  if (Problem problem = dropout_problem(spec)) return problem;
  if (Problem problem = frames_problem(spec)) return problem;
  return cross_problem("memory", spec.memory.second, spec.memory.cross);
}

}  // namespace

std::optional<SpecProblem> find_problem(const ModelSpec& spec) {
  for (const auto find :
       {find_depth_problem, find_size_problem, activation_problem, placement_problem,
        branch_norms_problem, qk_norm_problem, experts_problem, gain_offset_problem,
        layer_scale_problem, find_modulation_problem, find_head_problem, norm_problem,
        norm_scale_place_problem, init_problem, input_problem, find_sinusoids_problem, rest_problem,
        find_scale_problem, find_layer_problem})
    if (Problem problem = find(spec)) return problem;
  if (!spec.encoder_decoder) return {};
  if (Problem problem = find_problem(encoder_of(spec))) return problem;
  return find_problem(decoder_of(spec));
}

void validate(const ModelSpec& spec, const std::string& where) {
  if (const std::optional<SpecProblem> problem = find_problem(spec))
    throw Error(ErrorKind::input, problem->message, problem->where.empty() ? where : problem->where,
                problem->hint);
}

}  // namespace scalecalc
