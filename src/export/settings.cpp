#include "export/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "export/literals.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::export_room {
namespace {

/// Below this two std are one number printed twice.
constexpr double same = 1e-6;

bool differ(double a, double b) {
  return std::abs(a - b) > same * std::max(a, b);
}

}  // namespace

std::vector<std::string> differences(const NamedPlan& plan, const OwnRule& own) {
  std::vector<std::string> lines;
  std::map<std::string, bool> seen;
  for (const PlannedParameter& parameter : plan.plan.parameters) {
    if (!parameter.is_matrix && parameter.std == 0) continue;
    const OwnStart theirs = own(parameter);
    std::string line;
    if (differ(parameter.std, theirs.std)) {
      line =
          fmt::format("{}: planned std {} ({}), these settings give {}", parameter.role,
                      number_literal(parameter.std), parameter.formula, number_literal(theirs.std));
    } else if (parameter.start != (theirs.is_truncated ? Start::truncated_normal : Start::normal) &&
               parameter.std > 0) {
      line = fmt::format("{}: planned {}, these settings draw a {} of the same std", parameter.role,
                         to_string(parameter.start),
                         theirs.is_truncated ? "truncated normal" : "normal");
    }
    if (!line.empty() && !std::exchange(seen[line], true)) lines.push_back(line);
  }
  return lines;
}

double common_std(const NamedPlan& plan) {
  std::map<double, int> count;
  for (const PlannedParameter& parameter : plan.plan.parameters)
    if (parameter.is_matrix && parameter.std > 0 && parameter.role != "o" &&
        parameter.role != "ffn_out" && parameter.role != "embedding")
      ++count[parameter.std];
  const auto most = std::max_element(
      count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() ? 0 : most->first;
}

void require_transformer(const NamedPlan& plan, const char* target) {
  const char* const others = "use pytorch, flax, keras, c, or --format json";
  if (plan.spec.kind != ModelSpec::Kind::transformer)
    throw Error(ErrorKind::usage, fmt::format("{} has words for transformers alone", target),
                "--target", others);
  if (plan.spec.encoder_decoder)
    throw Error(ErrorKind::usage, fmt::format("{} is written for one stack, not for two", target),
                "--target", others);
}

std::vector<std::string> foreign_scales(const NamedPlan& plan, bool unscaled_attention) {
  const double usual =
      unscaled_attention ? 1.0 : 1 / std::sqrt(static_cast<double>(head_width(plan.spec)));
  std::vector<std::string> lines;
  for (const PlannedScale& scale : plan.plan.scales) {
    if (scale.what == "attention" && !differ(scale.value, usual)) continue;
    if (scale.what == "norm") continue;  // one line for all blocks
    lines.push_back(fmt::format("{} of {} is {} ({})", scale.what, scale.pattern,
                                number_literal(scale.value), scale.formula));
  }
  if (plan.spec.residual_attention)
    lines.emplace_back("residual_attention: its attention adds no scores of the block before");
  if (plan.spec.value_residual != 0)
    lines.emplace_back("value_residual: its attention reads no values of the first block");
  if (plan.spec.parallel)
    lines.emplace_back("parallel: its ffn reads the stream that its attention has been added to");
  return lines;
}

std::vector<std::string> part_differences(const ModelSpec& spec, bool reads_images,
                                          bool has_relative_bias) {
  std::vector<std::string> lines;
  if (spec.alibi != 0)
    lines.emplace_back("alibi: its scores have no biases, this model's are ALiBi's");
  if (spec.relative_buckets != 0 && !has_relative_bias)
    lines.emplace_back("relative_buckets: its scores have no biases, this model's are learnt");
  if (spec.window != 0)
    lines.push_back(fmt::format("window: its tokens attend to all before them, this model's to {}",
                                spec.window));
  for (const auto& [name, cap] : {std::pair{"attention_softcap", spec.attention_softcap},
                                  {"logit_softcap", spec.logit_softcap}})
    if (cap != 0) lines.push_back(fmt::format("{}: it has none, this model caps at {}", name, cap));
  if (!reads_images && (spec.input.patch > 0 || spec.class_tokens > 0))
    lines.push_back(
        fmt::format("class_tokens: it reads words, this model patches behind {} class tokens",
                    spec.class_tokens));
  if (spec.pool != Pooling::none && !(reads_images && spec.pool == Pooling::class_token))
    lines.push_back("pool: its head reads another token, or all of them, this model's one vector");
  if (spec.input.embedding_width != 0)
    lines.push_back(fmt::format(
        "embedding_width: its tables are as wide as the model, this model's have {} features",
        spec.input.embedding_width));
  if (spec.memory.features != 0)
    lines.push_back(
        fmt::format("memory.features: its encoder reads words, this model's frames of {} features",
                    spec.memory.features));
  if (spec.experts != 0)
    lines.push_back(
        fmt::format("experts: its ffn is one, this model's are {} behind a router", spec.experts));
  if (spec.layer_scale != 0)
    lines.push_back(fmt::format("layer_scale: it has none, this model multiplies branches by {}",
                                spec.layer_scale));
  if (spec.modulation != AdaptiveNorm::none)
    lines.push_back(
        "modulation: it has none, a condition modulates this model's norms and branches");
  if (spec.norm == NormKind::dyt)
    lines.emplace_back("norm: it has norms, this model tanh(alpha x) in their place");
  if (!spec.norm_scale.is_one())
    lines.push_back(fmt::format(
        "norm_scale: it has none, this model multiplies what leaves the norms of block l by {}",
        to_string(spec.norm_scale)));
  if (spec.gain_offset)
    lines.push_back("gain_offset: its gains start at 1, this model's are 1 + a parameter");
  return lines;
}

std::vector<std::string> dropout_differences(const ModelSpec& spec, const DropoutPlaces& own) {
  if (spec.dropout == 0 || spec.dropout_place == own) return {};
  const std::string places = to_string(own);
  return {"dropout_place: its code drops at " + (places.empty() ? "no place" : places) +
          ", this model at " + to_string(spec.dropout_place)};
}

}  // namespace scalecalc::export_room
