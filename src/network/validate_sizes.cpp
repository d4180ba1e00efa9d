#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "network/rotary.hpp"
#include "network/validate.hpp"
#include "network/weights.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/model_fields.hpp"

namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;
using Kind = ModelSpec::Kind;
using Range = ModelField::Range;

constexpr std::int64_t max_size = 1000000;

/// The divisor of `number` nearest to `wanted`.
std::int64_t nearest_divisor(std::int64_t number, std::int64_t wanted) {
  std::int64_t nearest = 1;
  const auto consider = [&](std::int64_t divisor) {
    if (std::abs(divisor - wanted) < std::abs(nearest - wanted)) nearest = divisor;
  };
  for (std::int64_t divisor = 1; divisor * divisor <= number; ++divisor) {
    if (number % divisor != 0) continue;
    consider(divisor);
    consider(number / divisor);
  }
  return nearest;
}

Problem size_problem(const ModelField& field, std::int64_t size) {
  if (size >= 1 && size <= max_size) return {};
  if (size == 0 && field.range == Range::size_or_none) return {};
  const std::string name = field.full_name();
  return SpecProblem{{name},
                     fmt::format("{} must be from 1 to {}, got {}", name, max_size, size),
                     fmt::format("for example {} = {}", name, field.example)};
}

Problem number_problem(const ModelField& field, double value) {
  const std::string name = field.full_name();
  const auto outside = [&](const char* range) {
    return SpecProblem{{name},
                       fmt::format("{} must be {}, got {}", name, range, value),
                       fmt::format("for example {} = {}", name, field.example)};
  };
  switch (field.range) {
    case Range::not_negative: return finite_problem(name, value, true);
    case Range::positive: return positive_problem(name, value);
    case Range::rate:
      if (!(value >= 0 && value < 1)) return outside("at least 0 and below 1");
      break;
    case Range::part:
      if (!(value >= 0 && value <= 1)) return outside("from 0 to 1");
      break;
    case Range::any:
    case Range::size:
    case Range::size_or_none: break;
  }
  return {};
}

Problem image_problem(const ModelSpec& spec) {
  if (spec.height == 0 || (spec.height > 0 && spec.sequence % spec.height == 0)) return {};
  return SpecProblem{{"height", "sequence"},
                     fmt::format("height must divide the pixels of a sequence (height {}, sequence "
                                 "{})",
                                 spec.height, spec.sequence),
                     "for example sequence = 1024 with height = 32"};
}

Problem formula_problem(const std::string& field, const Expr& formula, const Bindings& values,
                        bool may_be_zero) {
  try {
    const double value = formula_value(formula, values, field);
    return may_be_zero ? finite_problem(field, value, true) : positive_problem(field, value);
  } catch (const Error& error) {
    return problem_from(field, error);
  }
}

/// Of the decoder of two stacks, whose formulas may name the encoder's scales.
Problem decoder_problem(const ModelSpec& spec, Bindings values) {
  for (const auto& [name, scale] : {std::pair{"alpha", &spec.alpha}, {"lambda", &spec.lambda}})
    values[name] = *scale ? formula_value(**scale, values, name) : 1;
  for (const auto& [name, scale] :
       {std::pair{"decoder_alpha", &spec.decoder_alpha}, {"decoder_lambda", &spec.decoder_lambda}})
    if (*scale)
      if (Problem problem = formula_problem(name, **scale, values, false)) return problem;
  return {};
}

/// Of the first block that it is no scale for.
Problem norm_scale_problem(const ModelSpec& spec) {
  if (spec.kind != Kind::transformer || spec.norm_scale.is_one()) return {};
  try {
    for (std::int64_t block = 0; block < spec.layers; ++block)
      if (Problem problem = positive_problem("norm_scale", norm_scale(spec, block))) {
        problem->message += fmt::format(" in block {}", block + 1);
        return problem;
      }
    return {};
  } catch (const Error& error) {
    return problem_from("norm_scale", error);
  }
}

}  // namespace

SpecProblem problem_from(const std::string& field, const Error& error) {
  return {{field}, error.message(), error.hint()};
}

std::optional<SpecProblem> finite_problem(const std::string& field, double value,
                                          bool may_be_zero) {
  if (value > largest_number && std::isfinite(value))
    return SpecProblem{{field},
                       fmt::format("{} must be at most {:g}, got {}", field, largest_number, value),
                       "past it squares of signals are no numbers"};
  if (std::isfinite(value) && (may_be_zero ? value >= 0 : value > 0)) return {};
  return SpecProblem{{field},
                     fmt::format("{} must be finite and {}, got {}", field,
                                 may_be_zero ? "not negative" : "positive", value),
                     fmt::format("for example {}", may_be_zero ? "0" : "1")};
}

std::optional<SpecProblem> positive_problem(const std::string& field, double value) {
  if (value > 0 && value < least_number)
    return SpecProblem{{field},
                       fmt::format("{} must be at least {:g}, got {}", field, least_number, value),
                       "below it squares of signals are 0"};
  return finite_problem(field, value, false);
}

std::optional<SpecProblem> heads_problem(const HeadSizes& of) {
  const auto& [width, heads, kv_heads, head_width] = of;
  if (head_width == 0 && width % heads != 0) {
    const std::int64_t below = width - width % heads, above = below + heads;
    const std::string widths =
        below > 0 ? fmt::format("{} or {}", below, above) : fmt::format("{}", above);
    return SpecProblem{
        {"heads", "width"},
        fmt::format("[attention] heads must divide width (heads {}, width {})", heads, width),
        fmt::format("use width {}, or heads {}", widths, nearest_divisor(width, heads))};
  }
  if (kv_heads == 0 || heads % kv_heads == 0) return {};
  return SpecProblem{{"kv_heads", "heads"},
                     fmt::format("[attention] kv_heads must divide heads (kv_heads {}, heads {})",
                                 kv_heads, heads),
                     fmt::format("use kv_heads {}", nearest_divisor(heads, kv_heads))};
}

std::optional<SpecProblem> alibi_problem(const ScoreBiases& of) {
  if (of.alibi == 0) return {};
  if (!(of.alibi > 0 && std::isfinite(of.alibi)))
    return SpecProblem{{"alibi"},
                       fmt::format("alibi must be finite and not negative, got {}", of.alibi),
                       "1 for the published slopes, 0 for none"};
  if (!of.causal)
    return SpecProblem{{"alibi", "causal"},
                       "alibi counts tokens back from a query, and without a causal mask it sees "
                       "those behind it too",
                       "use causal = true, or leave alibi out"};
  if (of.rotary)
    return SpecProblem{{"alibi", "rotary_base"},
                       "alibi and rotary positions are two ways of saying where tokens stand",
                       "leave alibi or rotary_base out"};
  if (of.residual_attention)
    return SpecProblem{{"alibi", "residual_attention"},
                       "residual_attention would add alibi once more in each block",
                       "leave alibi or residual_attention out"};
  return {};
}

std::optional<SpecProblem> relative_problem(const ModelSpec& spec) {
  if (spec.relative_buckets == 0) return {};
  const auto beside = [](const char* field, const std::string& why) {
    return SpecProblem{{"relative_buckets", field},
                       "relative_buckets " + why,
                       fmt::format("leave {} or relative_buckets out", field)};
  };
  const bool has_mask = spec.causal && !spec.encoder_decoder;
  const std::int64_t fewest = has_mask ? 2 : 4;
  if (spec.relative_buckets < fewest || spec.relative_buckets % 2 != 0)
    return SpecProblem{{"relative_buckets"},
                       fmt::format("relative_buckets must be even and at least {}, got {}", fewest,
                                   spec.relative_buckets),
                       "T5 has 32"};
  const std::int64_t exact = spec.relative_buckets / 2;
  if (spec.relative_distance <= exact)
    return SpecProblem{{"relative_distance", "relative_buckets"},
                       fmt::format("relative_distance must be above half of the buckets (distance "
                                   "{}, buckets {})",
                                   spec.relative_distance, spec.relative_buckets),
                       "T5 has 32 buckets up to a distance of 128"};
  const std::string places = "and {} are two ways of saying where tokens stand";
  if (spec.rotary_base != 0)
    return beside("rotary_base", fmt::format(fmt::runtime(places), "rotary positions"));
  if (spec.alibi != 0) return beside("alibi", fmt::format(fmt::runtime(places), "alibi"));
  if (spec.residual_attention)
    return beside("residual_attention", "would be added once more in each block");
  if (spec.window != 0) return beside("window", "have no rule for keys that a window hides");
  if (spec.class_tokens != 0)
    return beside("class_tokens", "are of tokens in a row, which class tokens are not");
  return {};
}

std::optional<SpecProblem> window_problem(const WindowUse& of) {
  if (of.window == 0) return {};
  if (of.window < 0)
    return SpecProblem{{"window"},
                       fmt::format("window must be a number of tokens, got {}", of.window),
                       "for example window = 256, or leave it out for all"};
  if (!of.causal)
    return SpecProblem{{"window", "causal"},
                       "window is of the tokens before a query, and without a causal mask it sees "
                       "those behind it too",
                       "use causal = true, or leave window out"};
  if (of.residual_attention)
    return SpecProblem{{"window", "residual_attention"},
                       "residual_attention adds the scores of keys that a window hides",
                       "leave window or residual_attention out"};
  return {};
}

std::optional<SpecProblem> least_cap_problem(const std::string& field, double cap) {
  if (cap == 0 || cap >= least_cap) return {};
  return SpecProblem{{field},
                     fmt::format("{} must be 0 or at least {:g}, got {}", field, least_cap, cap),
                     "0 leaves them as they are"};
}

std::optional<SpecProblem> softcap_problem(const std::string& field, const CappedScores& scores) {
  if (scores.softcap == 0) return {};
  if (std::optional<SpecProblem> problem = finite_problem(field, scores.softcap, true))
    return problem;
  if (std::optional<SpecProblem> problem = least_cap_problem(field, scores.softcap)) return problem;
  if (scores.residual_attention)
    return SpecProblem{{field, "residual_attention"},
                       "residual_attention adds scores up, and " + field + " bends each layer's",
                       "leave " + field + " or residual_attention out"};
  // Under a cap what all keys share no longer drops out of the softmax; of keys that a window or
  // ALiBi weighs there is no rule for it.
  if (scores.key_biases && scores.keys_differ)
    return SpecProblem{{field, "bias"},
                       field + " of keys with biases has no rule beside a window or alibi",
                       "leave the biases of q, k and v, or " + field + " out"};
  return {};
}

std::optional<SpecProblem> find_size_problem(const ModelSpec& spec) {
  for (const ModelField& field : model_fields()) {
    if (field.range == Range::any || !field.belongs_to(spec.kind)) continue;
    const FieldValue value = field.get(spec);
    const auto* size = std::get_if<std::int64_t>(&value);
    if (Problem problem = size != nullptr ? size_problem(field, *size)
                                          : number_problem(field, std::get<double>(value)))
      return problem;
  }
  if (spec.kind == Kind::transformer) {
    if (Problem problem = heads_problem({spec.width, spec.heads, spec.kv_heads, spec.head_width}))
      return problem;
    if (Problem problem = alibi_problem(
            {spec.alibi, spec.causal, spec.rotary_base != 0, spec.residual_attention}))
      return problem;
    if (Problem problem = relative_problem(spec)) return problem;
    if (Problem problem = window_problem({spec.window, spec.causal, spec.residual_attention}))
      return problem;
    if (Problem problem = softcap_problem("attention_softcap",
                                          {spec.attention_softcap, spec.residual_attention,
                                           biases_of(spec).k, spec.window > 0 || spec.alibi != 0}))
      return problem;
    if (Problem problem = least_cap_problem("logit_softcap", spec.logit_softcap)) return problem;
    if (spec.window == 0 && spec.window_pattern != "L")
      return SpecProblem{{"window_pattern", "window"},
                         "window_pattern says which blocks have the window, and there is none",
                         "use window = 256, or leave window_pattern out"};
    return rotary_problem(spec);
  }
  return image_problem(spec);
}

std::optional<SpecProblem> find_depth_problem(const ModelSpec& spec) {
  if (!spec.encoder_decoder) return {};
  try {
    decoder_depth(spec);
    return {};
  } catch (const Error& error) {
    return problem_from("decoder_layers", error);
  }
}

std::optional<SpecProblem> find_scale_problem(const ModelSpec& spec) {
  Bindings values = size_bindings(spec);
  if (spec.alpha)
    if (Problem problem = formula_problem("alpha", *spec.alpha, values, false)) return problem;
  if (spec.lambda)
    if (Problem problem = formula_problem("lambda", *spec.lambda, values, false)) return problem;
  if (spec.encoder_decoder)
    if (Problem problem = decoder_problem(spec, values)) return problem;
  if (spec.kind == Kind::transformer)
    if (Problem problem = formula_problem("attention_scale", spec.attention_scale, values, false))
      return problem;
  if (Problem problem = norm_scale_problem(spec)) return problem;
  if (spec.relative_buckets != 0)
    if (Problem problem = formula_problem("relative_std", spec.relative_std, values, true))
      return problem;
  values["lambda"] = spec.lambda ? formula_value(*spec.lambda, values, "lambda") : 1;
  const std::vector<std::string>& roles = gain_roles(spec.kind);
  for (const auto& [role, gain] : spec.init.gain) {
    if (std::find(roles.begin(), roles.end(), role) == roles.end())
      return problem_from("init.gain." + role, unknown_name("role", role, roles, {}));
    if (Problem problem = formula_problem("init.gain." + role, gain, values, true)) return problem;
  }
  return {};
}

void check_activation(const std::string& text) {
  const bool is_word = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  if (is_word && text != "x")
    activation(text, {});
  else
    Activation::from_expression(text);
}

double formula_value(const Expr& formula, const Bindings& values, const std::string& name) {
  try {
    return evaluate(formula, values);
  } catch (const Error& error) {
    throw Error(error.kind(), name + ": " + error.message(), error.where(),
                error.hint().empty() ? "use a number or another formula" : error.hint());
  }
}

double norm_scale(const ModelSpec& spec, std::int64_t index) {
  if (spec.norm_scale.is_one()) return 1;
  const Bindings values = {{"N", static_cast<double>(spec.layers)},
                           {"l", static_cast<double>(index + 1)}};
  return formula_value(spec.norm_scale, values, "norm_scale");
}

Bindings size_bindings(const ModelSpec& spec) {
  Bindings values = {{"N", static_cast<double>(spec.layers)}};
  const auto add = [&](const char* name, std::int64_t size) {
    values[name] = static_cast<double>(size);
  };
  if (spec.kind == Kind::layers) return values;
  if (spec.encoder_decoder) values["M"] = static_cast<double>(decoder_depth(spec));
  add("width", spec.width);
  if (spec.kind == Kind::mlp) {
    add("features", spec.features);
    add("classes", spec.vocab);
    return values;
  }
  add("ffn", spec.ffn);
  add("vocab", spec.vocab);
  if (spec.head_classes > 0) add("head_classes", spec.head_classes);
  add("heads", spec.heads);
  add("head_width", head_width(spec));
  add("kv_heads", spec.kv_heads == 0 ? spec.heads : spec.kv_heads);
  if (spec.experts > 0) add("experts", spec.experts);
  if (spec.expert_ffn > 0) add("expert_ffn", spec.expert_ffn);
  if (spec.shared_ffn > 0) add("shared_ffn", spec.shared_ffn);
  if (spec.input.patch > 0) add("patch", spec.input.patch);
  if (spec.input.embedding_width > 0) add("embedding_width", spec.input.embedding_width);
  return values;
}

}  // namespace scalecalc
