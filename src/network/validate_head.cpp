#include <fmt/format.h>

#include "network/validate.hpp"

/// Which tokens there are besides those that are read, which of them the head reads, and its
/// classes.
namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;

Problem head_problem(const ModelSpec& spec) {
  if (spec.head_transform && spec.norm == NormKind::none)
    return SpecProblem{{"head_transform", "norm"},
                       "head_transform ends in a norm, and norm is none",
                       "use norm = \"layernorm\", or leave head_transform out"};
  if (spec.head_classes != 0 && spec.input.kind != InputKind::tokens)
    return SpecProblem{{"head_classes", "input.kind"},
                       "head_classes is of a model of words, and the input is gaussian",
                       "use vocab, which is the classes of the head"};
  if (spec.head_classes != 0 && spec.tie_head)
    return SpecProblem{{"head_classes", "tie_head"},
                       "tie_head makes the words the classes of the head",
                       "leave one of the two out"};
  if (!spec.tie_head) return {};
  if (spec.pool != Pooling::none)
    return SpecProblem{
        {"pool", "tie_head"},
        "tie_head knows the word of each token that the head reads, and a pool leaves "
        "one vector of a sequence",
        "leave one of the two out"};
  if (spec.input.embedding_width != 0 && !spec.head_transform)
    return SpecProblem{{"tie_head", "input.embedding_width"},
                       "tie_head shares a matrix of embedding_width features, and the head reads "
                       "the stream",
                       "use head_transform = true, which maps back, or leave one of the two out"};
  if (spec.input.kind != InputKind::tokens)
    return SpecProblem{{"tie_head", "input.kind"},
                       "tie_head shares the embedding's matrix, and a gaussian input has none",
                       "use input kind = \"tokens\", or leave tie_head out"};
  if (spec.vocab < 2)
    return SpecProblem{
        {"vocab", "tie_head"}, "tie_head needs two words or more", "use a larger vocab"};
  if (spec.ntk)
    return SpecProblem{{"tie_head", "ntk"},
                       "ntk gives the head a scale of its own, and tie_head the embedding's matrix",
                       "leave one of the two out"};
  return {};
}

/// Without a mask the last token is like all others but in what its gradient is.
Problem last_token_problem(const ModelSpec& spec) {
  if (spec.pool != Pooling::last_token) return {};
  const auto refuse = [](const char* field, const std::string& what, const char* hint) {
    return SpecProblem{{"pool", field}, what, hint};
  };
  if (spec.class_tokens > 0)
    return refuse("class_tokens",
                  "pool = \"last\" reads a token, and class_tokens are there to be read",
                  "use pool = \"class\", or leave class_tokens out");
  if (spec.cross_attention || spec.encoder_decoder)
    return refuse(spec.encoder_decoder ? "encoder_decoder" : "cross_attention",
                  "pool = \"last\" is for one stack without a memory", "leave one of the two out");
  if (spec.norm == NormKind::batchnorm || spec.norm == NormKind::instancenorm)
    return refuse("norm",
                  to_string(spec.norm) + " mixes tokens, of which pool = \"last\" reads one",
                  "use layernorm or rmsnorm");
  if (spec.causal) return {};
  if (spec.rotary_base != 0 || spec.relative_buckets != 0)
    return refuse(
        spec.rotary_base != 0 ? "rotary_base" : "relative_buckets",
        "without a causal mask pool = \"last\" takes tokens for alike, and distances make "
        "the last unlike the others",
        "use causal = true, or leave one of the two out");
  if (spec.input.kind == InputKind::tokens && spec.input.positions == 0)
    return refuse(
        "input.positions",
        "without a causal mask pool = \"last\" needs positions: equal words would be equal "
        "tokens",
        "use positions = 4e-4 in [input], or causal = true");
  return {};
}

/// Class tokens see all tokens and are seen by all.
Problem class_tokens_problem(const ModelSpec& spec) {
  if (spec.class_tokens == 0) {
    if (spec.pool == Pooling::class_token)
      return SpecProblem{{"pool", "class_tokens"},
                         "pool = \"class\" reads the first class token, and there is none",
                         "use class_tokens = 1, or pool = \"mean\""};
    if (spec.input.class_std != 0)
      return SpecProblem{{"input.class_std", "class_tokens"},
                         "class_std is of class tokens, and there are none",
                         "use class_tokens = 1, or leave it out"};
    return {};
  }
  const auto refuse = [](const char* field, const std::string& what, const char* hint) {
    return SpecProblem{{field, "class_tokens"}, what, hint};
  };
  if (spec.class_tokens >= spec.sequence)
    return refuse("sequence",
                  fmt::format("class_tokens are part of the sequence, which needs others besides "
                              "(class_tokens {}, sequence {})",
                              spec.class_tokens, spec.sequence),
                  "use a longer sequence");
  if (spec.input.kind == InputKind::tokens)
    return refuse("input.kind", "class_tokens stand in front of a gaussian input, not of words",
                  "use kind = \"gaussian\", or leave class_tokens out");
  if (spec.causal)
    return refuse("causal", "class_tokens are for all tokens, and a mask hides what follows",
                  "leave one of the two out");
  if (spec.cross_attention || spec.encoder_decoder)
    return refuse(spec.encoder_decoder ? "encoder_decoder" : "cross_attention",
                  "class_tokens are for one stack without a memory", "leave one of the two out");
  if (spec.rotary_base != 0)
    return refuse("rotary_base", "class_tokens have no place among rotary positions",
                  "leave one of the two out");
  if (spec.norm == NormKind::batchnorm || spec.norm == NormKind::instancenorm)
    return refuse("norm", to_string(spec.norm) + " over tokens that class_tokens make unlike",
                  "use layernorm or rmsnorm");
  const bool divides = spec.norm != NormKind::none && spec.norm != NormKind::dyt;
  if (divides && spec.norm_eps == 0 && spec.input.class_std == 0 && spec.input.positions == 0)
    return refuse("norm_eps", "class_tokens that are 0 have nothing that a norm could divide",
                  "use class_std = 0.02, or norm_eps = 1e-6");
  return {};
}

}  // namespace

std::optional<SpecProblem> find_head_problem(const ModelSpec& spec) {
  for (const auto find : {head_problem, last_token_problem, class_tokens_problem})
    if (Problem problem = find(spec)) return problem;
  return {};
}

}  // namespace scalecalc
