#include <algorithm>

#include "random_models.hpp"

namespace scalecalc::random_models {
namespace {

/// Behind the width of heads where that is drawn: a head of one feature has no pair to turn.
void draw_rotary(Draws draw, ModelSpec& spec) {
  if (head_width(spec) < 4 || !draw.chance(8)) return;
  spec.rotary_base = draw.of({10.0, 10000.0, 1e6});
  spec.rotary_fraction = draw.of({1.0, 1.0, 0.5});
}

void draw_alibi(Draws draw, ModelSpec& spec) {
  if (!spec.causal || spec.rotary_base != 0 || spec.residual_attention || !draw.chance(12)) return;
  spec.alibi = draw.of({1.0, 1.0, 0.25});
}

void draw_window(Draws draw, ModelSpec& spec) {
  if (!spec.causal || spec.residual_attention || !draw.chance(12)) return;
  spec.window = draw.of<std::int64_t>({1, 2, 4, 8, 16});
  spec.window_pattern = draw.of({"L", "LG", "GL"});
}

void draw_softcaps(Draws draw, ModelSpec& spec) {
  const bool has_rule = !spec.residual_attention && spec.window == 0 && spec.alibi == 0;
  if (has_rule && draw.chance(8)) spec.attention_softcap = draw.of({5.0, 50.0});
  if (draw.chance(8)) spec.logit_softcap = draw.of({10.0, 30.0});
}

}  // namespace

/// Behind the width of heads, which may have a number for each pair.
void draw_rotary_scaling(Draws draw, ModelSpec& spec) {
  if (spec.rotary_base == 0) return;
  if (spec.window > 0 && draw.chance(60)) spec.rotary_local_base = draw.of({10.0, 10000.0});
  if (!draw.chance(40)) return;
  RotaryStretch& stretch = spec.rotary;
  stretch.scaling = draw.of({RotaryScaling::linear, RotaryScaling::dynamic, RotaryScaling::llama3,
                             RotaryScaling::yarn, RotaryScaling::longrope});
  stretch.factor = draw.of({2.0, 8.0});
  if (stretch.scaling == RotaryScaling::linear) return;
  stretch.original = draw.of<std::int64_t>({8, 32, 128});
  if (stretch.scaling == RotaryScaling::yarn) stretch.attention = draw.of({0.0, 0.0, 1.3});
  if (stretch.scaling != RotaryScaling::longrope) return;
  // One number for each pair that turns.
  const double turned = spec.rotary_fraction * static_cast<double>(head_width(spec));
  for (int i = 0; i < std::max(1, static_cast<int>(turned / 2)); ++i) {
    stretch.short_factors += i == 0 ? "1" : " 1.5";
    stretch.long_factors += i == 0 ? "1" : " 6";
  }
}

/// T5's own std, and biases as large as the scores.
void draw_relative(Draws draw, ModelSpec& spec) {
  if (spec.rotary_base != 0 || spec.alibi != 0 || spec.window != 0 || spec.residual_attention ||
      spec.class_tokens != 0 || !draw.chance(12))
    return;
  spec.relative_buckets = draw.of<std::int64_t>({4, 8, 32});
  spec.relative_distance = draw.of<std::int64_t>({20, 128});
  if (draw.chance(40)) spec.relative_std = parse(draw.of({"1/2", "1"}));
}

void draw_attention(Draws& draw, ModelSpec& spec) {
  spec.causal = draw.chance(50);
  spec.qk_norm = draw.chance(30);
  spec.residual_attention = draw.chance(8);
  if (draw.chance(10)) spec.attention_dropout = 0.1;
  if (draw.chance(10)) spec.attention_scale = parse(draw.of({"1/head_width", "1/10", "1/width"}));
  if (draw.chance(10)) spec.cross_attention = true;
  draw_rotary(draw.apart(), spec);
  draw_alibi(draw.apart().apart(), spec);
  if (spec.qk_norm) spec.qk_norm_all = draw.apart().apart().apart().chance(30);
  draw_window(draw.apart().apart().apart(), spec);
  draw_softcaps(draw.apart().apart().apart().apart(), spec);
}

}  // namespace scalecalc::random_models
