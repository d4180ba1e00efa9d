#include <cmath>
#include <utility>

#include "network/frames.hpp"
#include "network/parts.hpp"
#include "network/rotary.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

/// Each weight of a block once; blocks are copies of them under other paths.
class Transformer {
 public:
  Transformer(const Parts& parts, std::string prefix)
      : parts_(parts), spec_(parts.spec()), prefix_(std::move(prefix)) {
    const std::int64_t kv_heads = spec_.kv_heads == 0 ? spec_.heads : spec_.kv_heads;
    const Fan width{spec_.width, Expr::symbol("width")}, ffn{spec_.ffn, Expr::symbol("ffn")};
    const Fan queries = head_features("heads", spec_.heads),
              keys = head_features("kv_heads", kv_heads);
    attention_.heads = spec_.heads;
    attention_.kv_heads = kv_heads;
    attention_.head_width = head_width(spec_);
    attention_.qk_norm = spec_.qk_norm;
    attention_.qk_norm_all = spec_.qk_norm_all;
    if (spec_.qk_norm) attention_.qk_norm_eps = spec_.norm_eps;
    attention_.scale = formula_value(spec_.attention_scale, parts.values(), "attention_scale");
    attention_.scale_formula = spec_.attention_scale;
    attention_.dropout = spec_.attention_dropout;
    attention_.rotary = rotary({spec_.rotary_base, spec_.rotary_fraction, attention_.head_width,
                                spec_.sequence, spec_.rotary});
    if (spec_.rotary_local_base != 0)
      local_rotary_ = rotary({spec_.rotary_local_base,
                              spec_.rotary_fraction,
                              attention_.head_width,
                              spec_.sequence,
                              {}});
    attention_.alibi = spec_.alibi;
    attention_.relative.buckets = spec_.relative_buckets;
    attention_.relative.distance = spec_.relative_distance;
    if (spec_.relative_buckets > 0)
      attention_.relative.std = formula_value(spec_.relative_std, parts.values(), "relative_std");
    attention_.softcap = spec_.attention_softcap;
    attention_.q = parts.linear("q", width, queries, true);
    attention_.k = parts.linear("k", width, keys, true);
    attention_.v = parts.linear("v", width, keys, true);
    attention_.o = parts.linear("o", queries, width, true);
    modulation_ = parts.linear("modulation", width, width, false);
    dense_ = ffn_weights(ffn);
    if (spec_.experts == 0) return;
    experts_ = spec_.expert_ffn == 0 ? dense_
                                     : ffn_weights({spec_.expert_ffn, Expr::symbol("expert_ffn")});
    if (spec_.shared_ffn > 0) shared_ = ffn_weights({spec_.shared_ffn, Expr::symbol("shared_ffn")});
    router_ = parts.linear("router", width, {spec_.experts, Expr::symbol("experts")}, false);
    shared_gate_ = parts.linear("router", width, {1, 1}, false);
  }

  /// Calls use(Residual) for each sum of block i: one a branch, or one of all of them.
  template <class Use>
  void each_sum(std::int64_t i, const Use& use) const {
    const std::string block = prefix_ + "block[" + std::to_string(i) + "]";
    const bool own_norms = !spec_.parallel || spec_.branch_norms;
    const double scale = norm_scale(spec_, i);
    Parallel together{block + ".branches", {}};
    const auto add = [&](const std::string& path, std::vector<Layer> body) {
      if (spec_.modulation != AdaptiveNorm::none) body = modulated(path, std::move(body));
      if (own_norms) body = parts_.normed(path, std::move(body), scale);
      if (spec_.parallel)
        together.branches.push_back(std::move(body));
      else
        use(parts_.residual(path, std::move(body)));
    };
    add(block + ".attn", attention(block + ".attn", false, i));
    if (spec_.cross_attention) add(block + ".cross", attention(block + ".cross", true, i));
    add(block + ".ffn", feed_forward(block + ".ffn"));
    if (!spec_.parallel) return;
    std::vector<Layer> body;
    body.reserve(own_norms ? 1 : 3);
    body.push_back({std::move(together)});
    if (!own_norms) body = parts_.normed(block, std::move(body), scale);
    use(parts_.residual(block, std::move(body)));
  }

  /// x (1 + s) + t behind a norm.
  Layer modulated_norm(const std::string& path) const {
    return {Modulation{path + ".modulated", at(modulation_, path + ".modulation.scale"),
                       at(modulation_, path + ".modulation.shift")}};
  }

 private:
  /// A branch between the modulation of its norm and its gate.
  std::vector<Layer> modulated(const std::string& path, std::vector<Layer> body) const {
    body.insert(body.begin(), modulated_norm(path));
    body.push_back(
        {Modulation{path + ".gated", at(modulation_, path + ".modulation.gate"), std::nullopt}});
    return body;
  }

  std::int64_t window_of(std::int64_t block) const {
    const std::string& pattern = spec_.window_pattern;
    const auto at = static_cast<std::size_t>(block) % pattern.size();
    return pattern[at] == 'L' ? spec_.window : 0;
  }

  std::vector<Layer> attention(const std::string& path, bool over_memory,
                               std::int64_t block) const {
    const std::int64_t window = over_memory ? 0 : window_of(block);
    Attention layer = attention_;
    layer.path = path;
    layer.over_memory = over_memory;
    layer.causal = spec_.causal && !over_memory;
    layer.window = window;
    if (window > 0 && local_rotary_.width > 0) layer.rotary = local_rotary_;
    layer.residual_attention = spec_.residual_attention && !over_memory;
    if (spec_.value_residual > 0 && !over_memory) {
      layer.gives_values = block == 0;
      layer.value_residual = block == 0 ? 0 : spec_.value_residual;
    }
    if (over_memory) {
      layer.rotary = {};
      layer.alibi = 0;
      layer.relative = {};
    }
    layer.relative.is_own = layer.relative.buckets > 0 && block == 0;
    layer.q.path = path + ".q";
    layer.k.path = path + ".k";
    layer.v.path = path + ".v";
    layer.o.path = path + ".o";
    if (spec_.placement == Placement::sub_ln)
      layer.norm = parts_.norm(path + ".mix_norm", attention_.heads * attention_.head_width);
    std::vector<Layer> body = branch(1);
    body.push_back({std::move(layer)});
    drop(path, body);
    return body;
  }

  /// The matrices of one ffn.
  struct FfnWeights {
    Linear gate, in, out;
  };
  FfnWeights ffn_weights(const Fan& ffn) const {
    const Fan width{spec_.width, Expr::symbol("width")};
    return {parts_.linear("ffn_gate", width, ffn, true), parts_.linear("ffn_in", width, ffn, true),
            parts_.linear("ffn_out", ffn, width, true)};
  }

  std::vector<Layer> feed_forward(const std::string& path) const {
    std::vector<Layer> body;
    if (spec_.experts == 0) {
      body = ffn(path, dense_);
    } else {
      body = branch(1);
      body.push_back(mixture(path));
    }
    drop(path, body);
    return body;
  }

  std::vector<Layer> ffn(const std::string& path, const FfnWeights& weights) const {
    const bool drops = parts_.drops(&DropoutPlaces::activation);
    std::vector<Layer> body = branch((spec_.gated ? 2 : 3) + (drops ? 1 : 0));
    if (spec_.gated) {
      body.push_back({Gated{path + ".act", spec_.activation, at(weights.gate, path + ".gate"),
                            at(weights.in, path + ".in")}});
    } else {
      body.push_back({at(weights.in, path + ".in")});
      body.push_back({ActivationLayer{path + ".act", spec_.activation}});
    }
    if (drops) body.push_back({Dropout{path + ".act_dropout", spec_.dropout}});
    if (spec_.placement == Placement::sub_ln)
      body.push_back({parts_.norm(path + ".act_norm", weights.in.fan_out)});
    body.push_back({at(weights.out, path + ".out")});
    return body;
  }

  /// The experts that a router chooses, and the one that all tokens share.
  Layer mixture(const std::string& path) const {
    Experts routed{path + ".experts",       at(router_, path + ".router"), spec_.top_k,
                   Experts::Score::softmax, spec_.norm_topk_prob,          {}};
    for (std::int64_t e = 0; e < spec_.experts; ++e)
      routed.experts.push_back(ffn(path + ".expert[" + std::to_string(e) + "]", experts_));
    if (spec_.shared_ffn == 0) return {std::move(routed)};
    std::vector<Layer> shared = ffn(path + ".shared", shared_);
    if (spec_.shared_gate)
      shared = {{Experts{path + ".shared",
                         at(shared_gate_, path + ".shared.router"),
                         1,
                         Experts::Score::sigmoid,
                         false,
                         {std::move(shared)}}}};
    return {Parallel{path + ".mixture", {{{std::move(routed)}}, std::move(shared)}}};
  }

  /// Of so many heads together, which are the width where they share it out.
  Fan head_features(const char* name, std::int64_t heads) const {
    if (spec_.head_width == 0 && heads == spec_.heads) return {spec_.width, Expr::symbol("width")};
    return {heads * head_width(spec_), Expr::symbol(name) * Expr::symbol("head_width")};
  }

  /// An empty body with room for these layers, the dropout and the norms around them.
  std::vector<Layer> branch(std::size_t layers) const {
    const Placement placement = spec_.placement;
    const bool norm_before = placement == Placement::pre || placement == Placement::sub_ln;
    if (placement == Placement::sandwich) layers += 2;
    if (norm_before || placement == Placement::res_post || placement == Placement::ngpt)
      layers += 1;
    if (placement == Placement::sub_ln) layers += 1;
    if (parts_.drops(&DropoutPlaces::branch)) layers += 1;
    if (spec_.modulation != AdaptiveNorm::none) layers += 2;
    std::vector<Layer> body;
    body.reserve(layers);
    return body;
  }

  void drop(const std::string& path, std::vector<Layer>& body) const {
    if (parts_.drops(&DropoutPlaces::branch))
      body.push_back({Dropout{path + ".dropout", spec_.dropout}});
  }

  const Parts& parts_;
  const ModelSpec& spec_;
  std::string prefix_;
  Attention attention_;
  Rotary local_rotary_;  ///< of blocks with the window, where it is another
  FfnWeights dense_, experts_, shared_;
  Linear router_, shared_gate_;
  Linear modulation_;  ///< of the scale, the shift or the gate of a branch
};

/// Features of the tables of tokens.
Fan table_fan(const ModelSpec& spec) {
  if (spec.input.embedding_width == 0) return {spec.width, Expr::symbol("width")};
  return {spec.input.embedding_width, Expr::symbol("embedding_width")};
}

/// The map of patches, and what is put in front of them and added to them.
void add_patches(const Parts& parts, std::vector<Layer>& layers) {
  const ModelSpec& spec = parts.spec();
  if (spec.input.patch > 0)
    layers.push_back({at(parts.linear("patch", {spec.input.patch, Expr::symbol("patch")},
                                      {spec.width, Expr::symbol("width")}, false),
                         "patch")});
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(spec.sequence)));
  if (spec.class_tokens > 0 || spec.input.positions > 0 || spec.input.sinusoids)
    layers.push_back({ClassTokens{"embedding", spec.class_tokens, spec.width, spec.sequence,
                                  spec.input.class_std, std::sqrt(spec.input.positions),
                                  spec.input.sinusoids, spec.input.sinusoids ? side : 0}});
}

/// c = silu(silu(e W_1) W_2 + table[label]), which every modulation reads.
void add_condition(const Parts& parts, std::vector<Layer>& layers) {
  const ModelSpec& spec = parts.spec();
  if (spec.modulation == AdaptiveNorm::none) return;
  const Fan width{spec.width, Expr::symbol("width")},
      features{spec.condition.features, Expr(spec.condition.features)};
  const auto activation = [](const char* path) { return Layer{ActivationLayer{path, "silu"}}; };
  ConditionLayer condition{
      "condition", {}, spec.condition.classes, spec.width, spec.condition.class_std, {}};
  condition.layers.push_back(
      {at(parts.linear("condition", features, width, false), "condition.in")});
  condition.layers.push_back(activation("condition.act"));
  condition.layers.push_back({at(parts.linear("condition", width, width, false), "condition.out")});
  condition.activated.push_back(activation("condition.activated"));
  layers.push_back({std::move(condition)});
}

void add_embedding(const ModelSpec& spec, const std::string& prefix, std::vector<Layer>& layers) {
  if (spec.input.kind != InputKind::tokens) return;
  layers.push_back({Embedding{prefix + "embedding", spec.vocab, table_width(spec),
                              std::sqrt(spec.input.second), std::sqrt(spec.input.positions),
                              spec.sequence, spec.input.segments, spec.input.multiplier}});
}

/// What stands between the embedding and the head. Paths begin with `prefix`.
void add_stack(const Parts& parts, std::int64_t blocks, const std::string& prefix,
               std::vector<Layer>& layers) {
  const ModelSpec& spec = parts.spec();
  const Transformer transformer(parts, prefix);
  if (has_input_norm(spec))
    layers.push_back({parts.norm(prefix + "input.norm", table_width(spec))});
  if (parts.drops(&DropoutPlaces::input))
    layers.push_back({Dropout{prefix + "input.dropout", spec.dropout}});
  if (spec.input.embedding_width != 0)
    layers.push_back(
        {at(parts.linear("linear", table_fan(spec), {spec.width, Expr::symbol("width")}, false),
            "embedding.map")});
  const auto each_sum = [&](const auto& use) {
    for (std::int64_t i = 0; i < blocks; ++i)
      transformer.each_sum(i, [&](Residual sublayer) {
        parts.drop_path(sublayer, i, blocks);
        use(std::move(sublayer));
      });
  };
  const auto count = static_cast<std::size_t>(blocks * (spec.parallel ? 1 : sublayers(spec)));
  if (spec.placement == Placement::resi_dual) {
    DualStream dual{prefix + "dual", {}, parts.norm(prefix + "final_norm", spec.width)};
    dual.sublayers.reserve(count);
    each_sum([&](Residual sublayer) { dual.sublayers.push_back(std::move(sublayer)); });
    layers.push_back({std::move(dual)});
  } else {
    const bool drops = parts.drops(&DropoutPlaces::stream);
    layers.reserve(layers.size() + (drops ? 2 : 1) * count + 5);
    each_sum([&](Residual sublayer) {
      const std::string path = sublayer.path;
      layers.push_back({std::move(sublayer)});
      if (drops) layers.push_back({Dropout{path + ".stream_dropout", spec.dropout}});
    });
    if (has_final_norm(spec.placement) && spec.norm != NormKind::none)
      layers.push_back({parts.norm(prefix + "final_norm", spec.width)});
    if (spec.modulation != AdaptiveNorm::none)
      layers.push_back(transformer.modulated_norm(prefix + "final_norm"));
  }
}

/// The words' own matrix; the gain stands in front of the product.
Linear tied(const ModelSpec& spec, Linear head) {
  head.tied = true;
  head.std = std::sqrt(spec.input.second);
  head.multiplier = head.gain;
  head.distribution = Distribution::normal;
  head.variance_formula =
      pow(role_gain(spec, "head", false), 2) * Expr(Rational::shortest(spec.input.second));
  return head;
}

void add_head(const Parts& parts, std::vector<Layer>& layers) {
  const ModelSpec& spec = parts.spec();
  if (spec.pool != Pooling::none) {
    const Pool::Of of = spec.pool == Pooling::class_token  ? Pool::Of::first
                        : spec.pool == Pooling::last_token ? Pool::Of::last
                                                           : Pool::Of::rest;
    layers.push_back({Pool{"pool", of, spec.class_tokens}});
  }
  Fan in{spec.width, Expr::symbol("width")};
  if (spec.head_transform) {
    const Fan out = table_fan(spec);
    layers.push_back({at(parts.linear("linear", in, out, false), "transform")});
    layers.push_back({ActivationLayer{"transform.act", spec.activation}});
    layers.push_back({parts.norm("transform.norm", out.size)});
    in = out;
  }
  const Fan classes = spec.head_classes == 0 ? Fan{spec.vocab, Expr::symbol("vocab")}
                                             : Fan{spec.head_classes, Expr::symbol("head_classes")};
  Linear head = parts.head(in, classes);
  layers.push_back({spec.tie_head ? tied(spec, std::move(head)) : std::move(head)});
}

}  // namespace

void add_transformer(const Parts& parts, std::int64_t blocks, std::vector<Layer>& layers) {
  if (parts.spec().input.kind == InputKind::gaussian) add_patches(parts, layers);
  add_embedding(parts.spec(), "", layers);
  add_condition(parts, layers);
  add_stack(parts, blocks, "", layers);
  add_head(parts, layers);
}

void add_encoder_decoder(const ModelSpec& spec, std::int64_t encoder_blocks,
                         std::int64_t decoder_blocks, std::vector<Layer>& layers) {
  const ModelSpec first = encoder_of(spec), second = decoder_of(spec);
  const Parts of_encoder(first), of_decoder(second);
  Encoder encoder{"encoder", {}};
  if (spec.memory.features > 0)
    add_frames(spec, of_encoder, encoder.layers);
  else
    add_embedding(first, "encoder.", encoder.layers);
  add_stack(of_encoder, encoder_blocks, "encoder.", encoder.layers);
  add_embedding(second, "", layers);
  layers.push_back({std::move(encoder)});
  add_stack(of_decoder, decoder_blocks, "", layers);
  add_head(of_decoder, layers);
}

}  // namespace scalecalc
