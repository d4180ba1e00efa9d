#include "shrink_model.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace scalecalc::random_models {
namespace {

using Change = std::function<void(ModelSpec&)>;

/// Fields as default_spec has them, and sizes halved.
std::vector<Change> plain_changes() {
  std::vector<Change> changes;
  const auto reset = [&](auto member) {
    changes.push_back([member](ModelSpec& spec) {
      ModelSpec plain = default_spec(spec.kind);
      member(spec) = member(plain);
    });
  };
  reset([](auto& s) -> auto& { return s.encoder_decoder; });
  reset([](auto& s) -> auto& { return s.decoder_layers; });
  reset([](auto& s) -> auto& { return s.decoder_alpha; });
  reset([](auto& s) -> auto& { return s.decoder_lambda; });
  reset([](auto& s) -> auto& { return s.cross_attention; });
  reset([](auto& s) -> auto& { return s.residual_attention; });
  reset([](auto& s) -> auto& { return s.value_residual; });
  reset([](auto& s) -> auto& { return s.qk_norm_all; });
  reset([](auto& s) -> auto& { return s.qk_norm; });
  reset([](auto& s) -> auto& { return s.rotary_local_base; });
  reset([](auto& s) -> auto& { return s.rotary; });
  reset([](auto& s) -> auto& { return s.rotary_fraction; });
  reset([](auto& s) -> auto& { return s.rotary_base; });
  reset([](auto& s) -> auto& { return s.alibi; });
  reset([](auto& s) -> auto& { return s.relative_buckets; });
  reset([](auto& s) -> auto& { return s.relative_distance; });
  reset([](auto& s) -> auto& { return s.relative_std; });
  reset([](auto& s) -> auto& { return s.attention_softcap; });
  reset([](auto& s) -> auto& { return s.logit_softcap; });
  reset([](auto& s) -> auto& { return s.gain_offset; });
  reset([](auto& s) -> auto& { return s.modulation; });
  reset([](auto& s) -> auto& { return s.condition; });
  reset([](auto& s) -> auto& { return s.condition.classes; });
  reset([](auto& s) -> auto& { return s.condition.cross; });
  reset([](auto& s) -> auto& { return s.layer_scale; });
  reset([](auto& s) -> auto& { return s.norm_scale; });
  reset([](auto& s) -> auto& { return s.norm_alpha; });
  reset([](auto& s) -> auto& { return s.pool; });
  reset([](auto& s) -> auto& { return s.head_classes; });
  reset([](auto& s) -> auto& { return s.class_tokens; });
  reset([](auto& s) -> auto& { return s.input.class_std; });
  reset([](auto& s) -> auto& { return s.input.patch; });
  reset([](auto& s) -> auto& { return s.patch_bias; });
  reset([](auto& s) -> auto& { return s.window_pattern; });
  reset([](auto& s) -> auto& { return s.window; });
  changes.push_back([](ModelSpec& spec) {
    const ModelSpec plain;
    spec.experts = plain.experts;
    spec.top_k = plain.top_k;
    spec.expert_ffn = plain.expert_ffn;
    spec.norm_topk_prob = plain.norm_topk_prob;
    spec.shared_ffn = plain.shared_ffn;
    spec.shared_gate = plain.shared_gate;
  });
  reset([](auto& s) -> auto& { return s.shared_gate; });
  reset([](auto& s) -> auto& { return s.shared_ffn; });
  reset([](auto& s) -> auto& { return s.expert_ffn; });
  reset([](auto& s) -> auto& { return s.norm_topk_prob; });
  reset([](auto& s) -> auto& { return s.kv_heads; });
  reset([](auto& s) -> auto& { return s.causal; });
  reset([](auto& s) -> auto& { return s.gated; });
  reset([](auto& s) -> auto& { return s.dropout; });
  reset([](auto& s) -> auto& { return s.dropout_place; });
  reset([](auto& s) -> auto& { return s.attention_dropout; });
  reset([](auto& s) -> auto& { return s.drop_path; });
  reset([](auto& s) -> auto& { return s.drop_path_rises; });
  reset([](auto& s) -> auto& { return s.attention_scale; });
  reset([](auto& s) -> auto& { return s.ntk; });
  reset([](auto& s) -> auto& { return s.norm_affine; });
  reset([](auto& s) -> auto& { return s.norm_eps; });
  reset([](auto& s) -> auto& { return s.ramp; });
  reset([](auto& s) -> auto& { return s.alpha; });
  reset([](auto& s) -> auto& { return s.lambda; });
  reset([](auto& s) -> auto& { return s.k_bias; });
  reset([](auto& s) -> auto& { return s.memory.sinusoids; });
  changes.push_back([](ModelSpec& spec) {
    spec.memory.features = 0;
    spec.memory.conv_strides = ModelSpec().memory.conv_strides;
    spec.memory.sinusoids = false;
    if (spec.input.kind == InputKind::tokens) spec.memory.cross = 0;
  });
  reset([](auto& s) -> auto& { return s.memory.cross; });
  reset([](auto& s) -> auto& { return s.memory.second; });
  reset([](auto& s) -> auto& { return s.input.zipf; });
  reset([](auto& s) -> auto& { return s.input.positions; });
  reset([](auto& s) -> auto& { return s.input.segments; });
  reset([](auto& s) -> auto& { return s.input.embedding_width; });
  reset([](auto& s) -> auto& { return s.input.multiplier; });
  reset([](auto& s) -> auto& { return s.input.norm; });
  reset([](auto& s) -> auto& { return s.input.cross; });
  reset([](auto& s) -> auto& { return s.reduction; });
  reset([](auto& s) -> auto& { return s.loss; });
  reset([](auto& s) -> auto& { return s.target_second; });
  reset([](auto& s) -> auto& { return s.batch; });
  reset([](auto& s) -> auto& { return s.init.distribution; });
  reset([](auto& s) -> auto& { return s.init.gain; });
  reset([](auto& s) -> auto& { return s.init.scheme; });
  return changes;
}

/// The first values of `order` that the model can do with.
template <class Member, class Value>
void prefer(std::vector<Change>& changes, Member member, const std::vector<Value>& order) {
  for (std::size_t k = 0; k < order.size(); ++k)
    changes.push_back([=](ModelSpec& spec) {
      const auto end = order.begin() + static_cast<std::ptrdiff_t>(k);
      if (std::find(order.begin(), end, member(spec)) == end) member(spec) = order[k];
    });
}

void add_values(std::vector<Change>& changes) {
  changes.push_back([](ModelSpec& s) {
    s.bias = false;
    s.init.bias_variance = 0;
  });
  changes.push_back([](ModelSpec& s) { s.init.bias_variance = 0; });
  changes.push_back([](ModelSpec& s) { s.input = ModelSpec::Input(); });
  changes.push_back([](ModelSpec& s) {
    s.input.cross /= s.input.second;
    s.input.second = 1;
  });
  prefer(
      changes, [](auto& s) -> auto& { return s.activation; },
      std::vector<std::string>{"identity", "tanh", "relu", "gelu"});
  changes.push_back([](ModelSpec& s) {
    s.placement = Placement::none;
    s.norm = NormKind::none;
  });
  prefer(
      changes, [](auto& s) -> auto& { return s.placement; },
      std::vector<Placement>{Placement::none, Placement::pre, Placement::post});
  prefer(
      changes, [](auto& s) -> auto& { return s.norm; },
      std::vector<NormKind>{NormKind::none, NormKind::rmsnorm, NormKind::layernorm});
  for (const std::int64_t layers : {1, 2, 3})
    changes.push_back([layers](ModelSpec& s) { s.layers = std::min(s.layers, layers); });
  changes.push_back([](ModelSpec& s) { s.batch = std::min<std::int64_t>(s.batch, 2); });
  changes.push_back([](ModelSpec& s) { s.heads = s.kv_heads = 1; });
  for (const std::int64_t tokens : {2, 4, 16})
    changes.push_back([tokens](ModelSpec& s) {
      if (s.height == 0 && tokens < s.sequence) s.sequence = tokens;
    });
  changes.push_back([](ModelSpec& s) { s.memory.sequence = 4; });
  changes.push_back([](ModelSpec& s) { s.vocab = 10; });
  changes.push_back([](ModelSpec& s) {
    s.width = s.features = 48;
    s.ffn = 96;
    s.heads = 4;
  });
  changes.push_back([](ModelSpec& s) { s.ffn = s.width; });
}

using List = std::vector<LayerSpec>;

List simpler_fields(const LayerSpec& layer) {
  List simpler;
  LayerSpec plain;
  plain.type = layer.type;
  const auto reset = [&](auto member) {
    if (member(layer) == member(plain)) return;
    simpler.push_back(layer);
    member(simpler.back()) = member(plain);
  };
  reset([](auto& l) -> auto& { return l.activation; });
  reset([](auto& l) -> auto& { return l.affine; });
  reset([](auto& l) -> auto& { return l.eps; });
  reset([](auto& l) -> auto& { return l.bias; });
  reset([](auto& l) -> auto& { return l.heads; });
  reset([](auto& l) -> auto& { return l.kv_heads; });
  reset([](auto& l) -> auto& { return l.causal; });
  reset([](auto& l) -> auto& { return l.qk_norm_all; });
  reset([](auto& l) -> auto& { return l.qk_norm; });
  reset([](auto& l) -> auto& { return l.rotary; });
  reset([](auto& l) -> auto& { return l.rotary_base; });
  reset([](auto& l) -> auto& { return l.alibi; });
  reset([](auto& l) -> auto& { return l.window; });
  reset([](auto& l) -> auto& { return l.memory; });
  reset([](auto& l) -> auto& { return l.stride; });
  reset([](auto& l) -> auto& { return l.groups; });
  reset([](auto& l) -> auto& { return l.gain; });
  reset([](auto& l) -> auto& { return l.distribution; });
  reset([](auto& l) -> auto& { return l.weight_norm; });
  reset([](auto& l) -> auto& { return l.skip; });
  reset([](auto& l) -> auto& { return l.branch; });
  reset([](auto& l) -> auto& { return l.trainable; });
  if (layer.type == LayerSpec::Type::attention) {
    reset([](auto& l) -> auto& { return l.norm; });
    reset([](auto& l) -> auto& { return l.dropout; });
    reset([](auto& l) -> auto& { return l.per_sample; });
  }
  if (layer.type == LayerSpec::Type::residual) reset([](auto& l) -> auto& { return l.norm; });
  return simpler;
}

/// Lists with one thing less: a layer, what holds the layers of a residual or a repeat together, a
/// field.
std::vector<List> simpler_lists(const List& list) {
  std::vector<List> simpler;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    List without = list;
    without.erase(without.begin() + at);
    simpler.push_back(without);
    if (!list[k].layers.empty()) {
      without.insert(without.begin() + at, list[k].layers.begin(), list[k].layers.end());
      simpler.push_back(without);
    }
    const auto replace = [&](const LayerSpec& layer) {
      simpler.push_back(list);
      simpler.back()[k] = layer;
    };
    for (const LayerSpec& layer : simpler_fields(list[k])) replace(layer);
    for (const auto inner : {&LayerSpec::layers, &LayerSpec::shortcut})
      for (const List& below : simpler_lists(list[k].*inner)) {
        LayerSpec layer = list[k];
        layer.*inner = below;
        replace(layer);
      }
  }
  return simpler;
}

bool is_valid(const ModelSpec& spec) {
  try {
    validate(spec);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class Shrink {
 public:
  Shrink(ModelSpec spec, const std::function<bool(const ModelSpec&)>& fails)
      : spec_(std::move(spec)), fails_(fails), tried_{model_text(spec_)} {}

  ModelSpec run() {
    std::vector<Change> changes = plain_changes();
    add_values(changes);
    for (bool found = true; found;) {
      found = false;
      while (shorten()) found = true;
      for (const Change& change : changes) {
        ModelSpec simpler = spec_;
        change(simpler);
        found = takes(simpler) || found;
      }
    }
    return std::move(spec_);
  }

 private:
  bool shorten() {
    ModelSpec simpler = spec_;
    for (const List& list : simpler_lists(spec_.layer_list)) {
      simpler.layer_list = list;
      if (takes(simpler)) return true;
    }
    return false;
  }

  bool takes(const ModelSpec& simpler) {
    if (!is_valid(simpler) || !tried_.insert(model_text(simpler)).second || !fails_(simpler))
      return false;
    spec_ = simpler;
    return true;
  }

  ModelSpec spec_;
  const std::function<bool(const ModelSpec&)>& fails_;
  std::set<std::string> tried_;
};

}  // namespace

ModelSpec shrink(ModelSpec spec, const std::function<bool(const ModelSpec&)>& fails) {
  return Shrink(std::move(spec), fails).run();
}

}  // namespace scalecalc::random_models
