#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "passes/layer_checker.hpp"

namespace scalecalc::passes {

void Checker::operator()(const Attention& layer) {
  check_size(layer.path, "heads", layer.heads);
  check_size(layer.path, "kv_heads", layer.kv_heads);
  check_multiple(layer.path, "heads", layer.heads, "kv_heads", layer.kv_heads);
  check_size(layer.path, "the width of a head", layer.head_width);
  check_number(layer.path, "the scale of the scores", layer.scale, false);
  rate(layer.path, layer.dropout);
  const Shape in = at_;
  (*this)(layer.q);
  const std::int64_t width = layer.heads * layer.head_width;
  if (layer.q.fan_out != width) mismatch(layer.q.path, width, layer.q.fan_out);
  const Shape given = memory_.value_or(Shape{memory_input_.tokens, layer.k.fan_in});
  const Shape from = layer.over_memory ? given : in;
  key_or_value(layer, layer.k, from);
  key_or_value(layer, layer.v, from);
  first_values(layer, at_);
  at_ = {in.tokens, width};
  add_product(2 * from.tokens, width);  // scores, and what they weigh
  if (layer.qk_norm) add_activations(2);
  rotary(layer);
  biases(layer);
  relative(layer);
  softcap(layer);
  checked_.footprint.activations +=
      batch_ * static_cast<double>(in.tokens) * static_cast<double>(layer.heads);
  add_activations(1);
  if (layer.residual_attention) added_scores(layer, in.tokens);
  if (layer.norm) (*this)(*layer.norm);
  (*this)(layer.o);
}

void Checker::rotary(const Attention& layer) {
  const Rotary& of = layer.rotary;
  if (of.width == 0) return;
  if (of.width < 0 || of.width % 2 != 0 || of.width > layer.head_width)
    refuse(layer.path,
           fmt::format("rotary positions turn {} features of a head of {}", of.width,
                       layer.head_width),
           "use an even number, at most the head's");
  if (!(std::isfinite(of.base) && of.base > 1))
    refuse(layer.path, fmt::format("the rotary base is {}", of.base), "use a number above 1");
  if (layer.over_memory) refuse(layer.path, "rotary positions of a memory", "leave them out");
  if (!of.theta.empty() && static_cast<std::int64_t>(of.theta.size()) != of.width / 2)
    refuse(
        layer.path,
        fmt::format("rotary positions of {} pairs have {} angles", of.width / 2, of.theta.size()),
        "use one of each pair, or none");
  for (const double theta : of.theta) check_number(layer.path, "a rotary angle", theta, true);
  if (!(std::isfinite(of.attention) && of.attention > 0))
    refuse(layer.path, fmt::format("rotary positions multiply features by {}", of.attention),
           "use a positive number");
  add_activations(2);
  if (turned_ && *turned_ == of) return;
  turned_ = of;
  checked_.footprint.activations += static_cast<double>(at_.tokens * of.width);
}

/// Scores, and what is added to them, are made and kept.
void Checker::biases(const Attention& layer) {
  if (layer.window < 0)
    refuse(layer.path, fmt::format("a window of {} tokens", layer.window), "use 1 at least");
  if (layer.window > 0 && (!layer.causal || layer.over_memory || layer.residual_attention))
    refuse(layer.path, "a window is of causal attention to tokens",
           "leave out the memory and residual_attention");
  const bool hides = layer.window > 0 && layer.window < at_.tokens;
  if (layer.alibi == 0 && !hides) return;
  check_number(layer.path, "alibi", layer.alibi, true);
  if (layer.alibi != 0 &&
      (!layer.causal || layer.over_memory || layer.rotary.width > 0 || layer.residual_attention))
    refuse(layer.path, "alibi is of causal attention to tokens",
           "leave out the memory, rotary positions and residual_attention");
  const double count = static_cast<double>(at_.tokens);
  checked_.footprint.activations += 2 * batch_ * static_cast<double>(layer.heads) * count * count;
}

/// Biases out of a table, of which one that is owned is the last.
void Checker::relative(const Attention& layer) {
  const RelativeBias& of = layer.relative;
  if (of.buckets == 0 && !of.is_own) return;
  const std::int64_t fewest = layer.causal ? 2 : 4;
  if (of.buckets < fewest || of.buckets % 2 != 0)
    refuse(layer.path, fmt::format("relative biases of {} buckets", of.buckets),
           fmt::format("use an even number, {} at least", fewest));
  if (of.distance <= of.buckets / 2)
    refuse(layer.path,
           fmt::format("relative biases of {} buckets up to a distance of {}", of.buckets,
                       of.distance),
           "use a distance above half of the buckets");
  check_number(layer.path, "the standard deviation of relative biases", of.std, true);
  if (layer.over_memory || layer.rotary.width > 0 || layer.alibi != 0 || layer.window > 0 ||
      layer.residual_attention)
    refuse(layer.path, "relative biases are of attention to tokens",
           "leave out the memory, rotary positions, alibi, windows and residual_attention");
  const BiasTable own{of.buckets, of.distance, layer.heads, at_.tokens, layer.causal};
  if (of.is_own) {
    table_ = own;
    add_parameters(of.buckets, layer.heads);
  }
  if (!table_ || !(*table_ == own))
    refuse(layer.path, "no attention before has a table of such relative biases",
           "let one have its own, of the same heads, buckets, mask and tokens");
  const double count = static_cast<double>(at_.tokens);
  checked_.footprint.activations += 2 * batch_ * static_cast<double>(layer.heads) * count * count;
}

/// Scores are kept as they are and capped.
void Checker::softcap(const Attention& layer) {
  if (layer.softcap == 0) return;
  check_number(layer.path, "softcap", layer.softcap, false);
  if (layer.residual_attention)
    refuse(layer.path, "a softcap of residual_attention", "leave out one of the two");
  checked_.functions.add(soft_cap(layer.softcap), layer.path);
  const double keys =
      static_cast<double>(layer.over_memory ? memory_.value_or(memory_input_).tokens : at_.tokens);
  checked_.footprint.activations +=
      3 * batch_ * static_cast<double>(layer.heads) * static_cast<double>(at_.tokens) * keys;
}

/// These are kept, which the scores of other attentions are not.
void Checker::added_scores(const Attention& layer, std::int64_t tokens) {
  if (layer.over_memory)
    refuse(layer.path, "residual_attention over a memory", "leave out one of the two");
  const Shape own{tokens, layer.heads};
  if (scores_ && !(*scores_ == own))
    refuse(layer.path,
           fmt::format("residual_attention adds scores of {} heads and {} tokens to those of {} "
                       "and {}",
                       scores_->width, scores_->tokens, own.width, own.tokens),
           "make heads and tokens equal");
  scores_ = own;
  const double count = static_cast<double>(tokens);
  checked_.footprint.activations += batch_ * static_cast<double>(layer.heads) * count * count;
}

/// Values that others are added to are made once more.
void Checker::first_values(const Attention& layer, Shape own) {
  if (layer.gives_values) values_ = own;
  if (layer.value_residual == 0) return;
  if (!(layer.value_residual > 0 && layer.value_residual < 1))
    refuse(layer.path, fmt::format("the share of the first values is {}", layer.value_residual),
           "use at least 0 and less than 1");
  if (layer.over_memory)
    refuse(layer.path, "value_residual over a memory", "leave one of the two out");
  if (!values_ || !(*values_ == own))
    refuse(layer.path,
           values_ ? fmt::format("value_residual adds values of {} features and {} tokens to those "
                                 "of {} and {}",
                                 values_->width, values_->tokens, own.width, own.tokens)
                   : "no attention before gives its values",
           "let one of as many heads and tokens give them");
  add_activations(1);
}

void Checker::key_or_value(const Attention& layer, const Linear& projection, Shape from) {
  if (layer.over_memory && !memory_) {
    check_size("network", "memory_sequence", memory_input_.tokens);
    std::int64_t& width = checked_.memory_width;
    if (width == 0) width = from.width;
    if (from.width != width) mismatch(projection.path, width, from.width);
  }
  at_ = from;
  (*this)(projection);
  const std::int64_t width = layer.kv_heads * layer.head_width;
  if (projection.fan_out != width) mismatch(projection.path, width, projection.fan_out);
}

}  // namespace scalecalc::passes
