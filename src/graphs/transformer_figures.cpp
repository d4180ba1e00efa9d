#include <algorithm>
#include <cmath>
#include <set>

#include "graphs/transformer_reader.hpp"

/// The numbers of a transformer: what all its blocks agree on, and stds of its weights.
namespace scalecalc::graphs {

namespace {

/// Without the roles of a condition, where there are others.
RoleFigures of_stream(RoleFigures weights) {
  weights.erase("modulation");
  if (weights.size() > 1) weights.erase("condition");
  return weights;
}

}  // namespace

bool TransformerReader::set_shapes() {
  spec_.norm = norm_.value_or(NormKind::none);
  spec_.norm_eps = eps_.value_or(0);
  spec_.norm_affine = affine_.value_or(false);
  spec_.gain_offset = offset_.value_or(false);
  spec_.heads = heads_.value_or(1);
  if (kv_heads_ && *kv_heads_ != spec_.heads) spec_.kv_heads = *kv_heads_;
  if (head_width_ && *head_width_ * spec_.heads != spec_.width) spec_.head_width = *head_width_;
  spec_.causal = causal_.value_or(false);
  const double due = 1 / std::sqrt(static_cast<double>(head_width_.value_or(1)));
  if (scale_ && std::fabs(*scale_ / due - 1) > 1e-5)
    spec_.attention_scale = Expr(Rational::shortest(*scale_));
  spec_.attention_softcap = softcap_.value_or(0);
  if (turns_ && turns_->second > 0) {
    spec_.rotary_base = turns_->first;
    spec_.rotary_fraction = static_cast<double>(turns_->second) / static_cast<double>(*head_width_);
  }
  spec_.qk_norm = qk_norm_.value_or(false);
  spec_.qk_norm_all = qk_norm_all_.value_or(false);
  spec_.ffn = ffn_.value_or(1);
  spec_.gated = gated_.value_or(false);
  spec_.activation = activation_.value_or("gelu");
  spec_.layer_scale = layer_scale_.value_or(0);
  const bool q = qkv_bias_.value_or(false), o = o_bias_.value_or(false),
             f = ffn_bias_.value_or(false);
  // What has no field of its own are maps of a condition.
  spec_.bias = condition_bias_.value_or(q && o && f);
  if (o != spec_.bias) spec_.attention_bias = o;
  if (q != o) spec_.qkv_bias = q;
  if (f != spec_.bias) spec_.ffn_bias = f;
  if (spec_.patch_bias && *spec_.patch_bias == spec_.bias) spec_.patch_bias.reset();
  if (rate_) {
    spec_.dropout = *rate_;
    spec_.dropout_place = places_;
  }
  set_relative();
  return set_windows();
}

/// One window, of all blocks or of those with an L in the shortest pattern that repeats.
bool TransformerReader::set_windows() {
  const std::set<std::int64_t> all(windows_.begin(), windows_.end());
  const std::int64_t widest = all.empty() ? 0 : *all.rbegin();
  if (widest == 0) return true;
  if (all.size() > 2 || (all.size() == 2 && *all.begin() != 0)) return false;
  spec_.window = widest;
  std::string pattern;
  for (const std::int64_t window : windows_) pattern += window > 0 ? 'L' : 'G';
  for (std::size_t period = 1; period <= pattern.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < pattern.size(); ++i)
      repeats = repeats && pattern[i] == pattern[i - period];
    if (!repeats) continue;
    spec_.window_pattern = pattern.substr(0, period);
    return true;
  }
  return true;
}

/// Of the distances that the lookups allow the default, a power of two or the least; the std of the
/// tables is the default where theirs is that but for sampling errors.
void TransformerReader::set_relative() {
  if (buckets_.value_or(0) == 0) return;
  spec_.relative_buckets = *buckets_;
  const auto is_allowed = [&](std::int64_t distance) {
    return least_ <= distance && distance <= most_;
  };
  if (!is_allowed(spec_.relative_distance)) {
    spec_.relative_distance = least_;
    for (std::int64_t distance = 2; distance <= std::min<std::int64_t>(most_, 1 << 20);
         distance *= 2)
      if (is_allowed(distance)) spec_.relative_distance = distance;
  }
  std::vector<Figure> found;
  for (const std::size_t table : relative_tables_)
    if (const auto figure = known_.figures.tensor(table)) found.push_back(*figure);
  const auto all = pooled(found);
  if (!all) return;
  const double due = 1 / std::sqrt(static_cast<double>(spec_.width)),
               error = 3 / std::sqrt(2 * static_cast<double>(all->counted));
  if (std::fabs(all->std / due - 1) > error)
    spec_.relative_std = Expr(Rational::shortest(neat(all->std, all->counted)));
}

void TransformerReader::weigh(const std::string& role, std::size_t index) {
  const Part& part = known_.part(index);
  if (const auto figure = known_.figures.weight(part)) {
    weights_[role].push_back(*figure);
    if (role != "condition" && role != "modulation")
      is_uniform_ = is_uniform_ && figure->is_uniform;
  }
  if (const auto figure = known_.figures.bias(part)) biases_.push_back(*figure);
}

/// A std for all, and gains of roles that have another. False where biases are drawn, each
/// layer's with a std of its own.
bool TransformerReader::set_weights() {
  if (weights_.empty()) return true;
  double least = HUGE_VAL, most = 0;
  for (const Figure& bias : biases_) {
    least = std::min(least, bias.std);
    most = std::max(most, bias.std);
  }
  if (most > 0) {
    const bool can_be_list = !spec_.tie_head && !known_.condition && spec_.input.patch == 0 &&
                             spec_.class_tokens == 0 && !spec_.encoder_decoder;
    if (least < 0.8 * most && can_be_list) return false;
    spec_.init.bias_variance = neat_square(pooled(biases_)->std, pooled(biases_)->counted);
    if (least < 0.8 * most)
      known_.remarks.insert("biases differ between layers: all have their root mean square here");
  }
  const Figure base = base_of(of_stream(weights_));
  const double std = neat(base.std, base.counted);
  if (std <= 0) return false;
  set_modulation();
  spec_.init.scheme = "std";
  spec_.init.std = std;
  if (is_uniform_) spec_.init.distribution = Distribution::uniform;
  for (const auto& [role, figures] : weights_) {
    for (const Figure& one : figures)
      if (std::fabs(one.std / pooled(figures)->std - 1) > 0.1)
        known_.remarks.insert(
            "weights of one role differ between blocks by more than a tenth: all "
            "have their root mean square here");
    const Figure own = *pooled(figures);
    set_gain(role, own.std / std, std::min(own.counted, base.counted));
  }
  return true;
}

void TransformerReader::set_gain(const std::string& role, double gain, std::int64_t counted) {
  const double error = 3 * std::sqrt(1.0 / static_cast<double>(std::max<std::int64_t>(counted, 1)));
  if (std::fabs(gain - 1) <= error) return;
  if (role == "transform") {
    known_.remarks.insert("the map in front of the head is drawn as the others");
    return;
  }
  // A branch's last map, of 2N branches (GPT-2).
  const double of_depth = 1 / std::sqrt(2.0 * static_cast<double>(spec_.layers));
  if (std::fabs(gain / of_depth - 1) <= error && (role == "o" || role == "ffn_out")) {
    spec_.init.gain[role] = pow(2 * Expr::symbol("N"), Expr(Rational(-1, 2)));
    return;
  }
  spec_.init.gain[role] = Expr(Rational::shortest(neat(gain, counted)));
}

}  // namespace scalecalc::graphs
