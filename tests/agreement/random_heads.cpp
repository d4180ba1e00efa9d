#include "random_draws.hpp"

namespace scalecalc::random_models {

void draw_last(Draws draw, ModelSpec& spec) {
  const bool words = spec.input.kind == InputKind::tokens;
  if (words && !spec.tie_head && draw.chance(8)) spec.head_classes = draw.of<std::int64_t>({2, 50});
  const bool over_samples = spec.norm == NormKind::batchnorm || spec.norm == NormKind::instancenorm;
  const bool alike =
      spec.rotary_base == 0 && spec.relative_buckets == 0 && (!words || spec.input.positions > 0);
  if (spec.pool != Pooling::none || spec.class_tokens > 0 || spec.tie_head ||
      spec.cross_attention || spec.encoder_decoder || over_samples || !(spec.causal || alike) ||
      !draw.chance(10))
    return;
  spec.pool = Pooling::last_token;
}

}  // namespace scalecalc::random_models
