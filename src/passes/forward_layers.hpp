#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.hpp"
#include "passes/carried.hpp"
#include "passes/forward.hpp"
#include "passes/modulate.hpp"
#include "passes/score_biases.hpp"
#include "passes/sinusoids.hpp"
#include "tensor/ops.hpp"

/// The forward pass, layer by layer.
namespace scalecalc::passes {

using tensor::Activated;
using tensor::AttentionShape;
using tensor::ConvShape;
using tensor::Functions;
using tensor::Stream;
using tensor::stream_id;
using tensor::Tape;
using tensor::Tensor;
using tensor::Variable;

/// Applies the layers to the stream, taking the parameters in the order of the forward pass.
template <class Real>
class Forward {
 public:
  using Value = Variable<Real>;
  Forward(const Plan& plan, const Drawn<Real>& drawn, Tape<Real>& tape, Observer<Real>* observer,
          Progress start = {})
      : network_(plan.network),
        functions_(plan.checked.functions),
        drawn_(drawn),
        tape_(tape),
        observer_(observer),
        head_(std::get_if<Linear>(&plan.network.layers.back().op)),
        at_(start) {}

  const Progress& progress() const { return at_; }
  /// What goes beside the stream from layer to layer.
  Carried<Real>& carried() { return carried_; }

  Value input() {
    if (network_.input == InputKind::tokens) return {};
    if (observer_ == nullptr) return tape_.constant(drawn_.data.features);
    return seen("input", "input", tape_.leaf(drawn_.data.features));
  }

  Value run(const std::vector<Layer>& layers, Value x) { return run(layers, 0, layers.size(), x); }

  /// Layers begin .. end.
  Value run(const std::vector<Layer>& layers, std::size_t begin, std::size_t end, Value x) {
    for (std::size_t i = begin; i < end; ++i) {
      base::check_deadline();
      const auto* linear = std::get_if<Linear>(&layers[i].op);
      const auto* activation =
          i + 1 < end ? std::get_if<ActivationLayer>(&layers[i + 1].op) : nullptr;
      if (linear != nullptr && activation != nullptr) {
        x = activated(*linear, activation->function, x);
        x = seen(activation->path, "activation", std::move(x));
        ++i;
      } else {
        x = std::visit([&](const auto& op) { return apply(op, x); }, layers[i].op);
      }
    }
    return x;
  }

 private:
  Value next() {
    const std::size_t index = at_.parameters++;
    if (observer_ != nullptr && !at_.replays) observer_->parameter(index);
    return tape_.parameter(index, drawn_.parameters[index]);
  }

  Value seen(const std::string& path, const char* kind, Value x, const char* suffix = "") {
    if (observer_ == nullptr) return x;
    const std::size_t site =
        at_.replays ? at_.sites : observer_->value(path + suffix, kind, x.value);
    at_.sites = site + 1;
    tape_.probe(x, [observer = observer_, site](const Tensor<Real>& gradient) {
      observer->gradient(site, gradient);
    });
    return x;
  }

  std::int64_t tokens(const Value& x) const { return x.value.rows() / network_.batch; }
  Stream mask(const std::string& path) const { return {drawn_.seed, stream_id(path, drawn_.mask)}; }
  double rate(double dropout) const { return drawn_.drops ? dropout : 0.0; }

  /// The weight as it is used: normalised, then times the multiplier.
  Value weight(const Linear& layer) {
    Value w = next();
    if (layer.weight_norm == WeightNorm::spectral) w = spectral(tape_, w);
    if (layer.weight_norm == WeightNorm::demodulated) w = demodulate(tape_, w);
    return layer.multiplier == 1.0 ? w : scale(tape_, layer.multiplier, w);
  }

  std::optional<Value> bias(const Linear& layer) {
    return layer.bias ? std::optional(next()) : std::nullopt;
  }
  Value seen(const Linear& layer, Value y) {
    return seen(layer.path, &layer == head_ ? "head" : "linear", std::move(y));
  }
  /// The words' table is the first parameter.
  Value by_words(const Linear& layer, const Value& x) {
    const Value words = tape_.parameter(0, drawn_.parameters.front());
    const std::optional<Value> b = bias(layer);
    const Value scaled = layer.multiplier == 1.0 ? x : scale(tape_, layer.multiplier, x);
    return seen(layer, linear_by_rows(tape_, scaled, words, b ? &*b : nullptr));
  }
  Value apply(const Linear& layer, const Value& x) {
    if (layer.tied) return by_words(layer, x);
    const Value w = weight(layer);
    const std::optional<Value> b = bias(layer);
    return seen(layer, linear(tape_, x, w, b ? &*b : nullptr));
  }
  Value activated(const Linear& layer, const std::string& function, const Value& x) {
    const Value w = weight(layer);
    const std::optional<Value> b = bias(layer);
    Activated<Real> made =
        linear_activated(tape_, functions_.at(function), x, w, b ? &*b : nullptr);
    seen(layer, std::move(made.before));
    return std::move(made.after);
  }
  Value apply(const ActivationLayer& layer, const Value& x) {
    return seen(layer.path, "activation", activate(tape_, functions_.at(layer.function), x));
  }
  Value apply(const Norm& layer, const Value& x) {
    return seen(layer.path, "norm", normalised(layer, x));
  }
  Value normalised(const Norm& layer, Value x) {
    switch (layer.kind) {
      case NormKind::layernorm: x = normalise(tape_, true, layer.eps, x); break;
      // Scale norm multiplies x/|x| by one gain, sqrt(width) at the start.
      case NormKind::rmsnorm:
      case NormKind::scalenorm: x = normalise(tape_, false, layer.eps, x); break;
      case NormKind::batchnorm:
        x = normalise_columns(tape_, true, layer.eps, x, x.value.rows());
        break;
      case NormKind::instancenorm:
        x = normalise_columns(tape_, true, layer.eps, x, tokens(x));
        break;
      case NormKind::dyt:
        x = activate(tape_, functions_.at("tanh"), blend(tape_, 0.0, x, next(), x));
        break;
      case NormKind::none: break;
    }
    return affine_of(layer, std::move(x));
  }
  /// One row as wide as x, of this value.
  Tensor<Real> row_of(const Value& x, double value) {
    Tensor<Real> row = tape_.make(1, x.value.columns());
    const std::vector<Real> values(static_cast<std::size_t>(row.size()), static_cast<Real>(value));
    tape_.device().upload(values.data(), row.data(), row.bytes());
    return row;
  }
  Value affine_of(const Norm& layer, Value x) {
    if (layer.affine) {
      Value gain = next();
      const Value shift = next();
      if (layer.gain_offset) gain = blend(tape_, 1.0, tape_.constant(row_of(x, 1.0)), 1.0, gain);
      x = affine(tape_, x, gain, shift);
    }
    return layer.scale == 1.0 ? x : scale(tape_, layer.scale, x);
  }
  static bool is_by_token(NormKind kind) {
    return kind == NormKind::layernorm || kind == NormKind::rmsnorm || kind == NormKind::scalenorm;
  }

  AttentionShape shape_of(const Attention& layer, std::int64_t queries) const {
    AttentionShape shape{network_.batch,   queries,      layer.heads,
                         layer.head_width, layer.causal, layer.scale};
    shape.kv_heads = layer.kv_heads;
    shape.dropout = rate(layer.dropout);
    if (shape.dropout > 0.0) shape.mask = mask(layer.path);
    if (layer.over_memory) {
      shape.keys = carried_.memory ? tokens(*carried_.memory) : network_.memory_sequence;
      shape.causal = false;
    }
    return shape;
  }
  Value turned(const Attention& layer, std::int64_t heads, const Value& x) {
    return rotate(tape_, {network_.batch, tokens(x), heads, layer.head_width, layer.rotary.width},
                  turns(layer.rotary, tokens(x)), x);
  }
  const Tensor<Real>& turns(const Rotary& rotary, std::int64_t tokens) {
    if (turns_ && turns_->rows() == tokens && turns_of_ == rotary) return *turns_;
    turns_of_ = rotary;
    return turns_.emplace(
        rotary_turns(tape_, tokens, rotary_frequencies(rotary), rotary.attention));
  }
  /// Of score_biases.
  const Value& biases(const Attention& layer, const AttentionShape& shape) {
    if (biases_ && biases_of_ == std::pair(layer.alibi, layer.window) &&
        biases_->value.rows() == shape.weight_rows() &&
        biases_->value.columns() == shape.key_tokens())
      return *biases_;
    const std::vector<Real> made = score_biases<Real>(layer, shape);
    Tensor<Real> biases = tape_.make(shape.weight_rows(), shape.key_tokens());
    tape_.device().upload(made.data(), biases.data(), biases.bytes());
    biases_of_ = {layer.alibi, layer.window};
    return biases_.emplace(tape_.constant(std::move(biases)));
  }
  /// Of the last table, for each head of each sequence.
  const Value& relative(const Attention& layer, const AttentionShape& shape) {
    if (relative_ && relative_of_ == at_.biases) return *relative_;
    relative_of_ = at_.biases;
    return relative_.emplace(relative_biases(
        tape_,
        {shape.sequences, shape.heads, shape.tokens, shape.key_tokens(), layer.relative.buckets},
        tape_.indices(score_buckets(layer, shape)),
        tape_.parameter(at_.biases, drawn_.parameters[at_.biases])));
  }
  /// What is added to the scores of q and k; null: nothing.
  const Value* added(const Attention& layer, const AttentionShape& shape) {
    if (layer.relative.buckets > 0) return &relative(layer, shape);
    const bool biased = layer.alibi != 0 || hides(layer, shape.tokens - 1);
    return biased ? &biases(layer, shape) : nullptr;
  }
  Value memory_or_given() {
    return carried_.memory ? *carried_.memory : tape_.constant(drawn_.data.memory);
  }
  Value apply(const Attention& layer, const Value& x) {
    const Value from = layer.over_memory ? memory_or_given() : x;
    Value q = apply(layer.q, x), k = apply(layer.k, from);
    const Value v = with_first(layer, apply(layer.v, from));
    if (layer.relative.is_own) {
      at_.biases = at_.parameters;
      next();
    }
    if (layer.qk_norm) {
      const std::int64_t q_heads = layer.qk_norm_all ? layer.heads : 1,
                         k_heads = layer.qk_norm_all ? layer.kv_heads : 1;
      q = normalise(tape_, false, layer.qk_norm_eps, q, q_heads * layer.head_width);
      k = normalise(tape_, false, layer.qk_norm_eps, k, k_heads * layer.head_width);
    }
    if (layer.rotary.width > 0) {
      q = turned(layer, layer.heads, q);
      k = turned(layer, layer.kv_heads, k);
    }
    const AttentionShape shape = shape_of(layer, tokens(x));
    Value mix = mixed(layer, shape, q, k, v);
    mix = seen(layer.path, "attention", std::move(mix), ".mix");
    if (layer.norm) mix = apply(*layer.norm, mix);
    return apply(layer.o, mix);
  }
  /// (1 - s) v + s u.
  Value with_first(const Attention& layer, const Value& v) {
    if (layer.gives_values) carried_.values = v;
    if (layer.value_residual == 0) return v;
    return blend(tape_, 1 - layer.value_residual, v, layer.value_residual, *carried_.values);
  }
  Value mixed(const Attention& layer, const AttentionShape& shape, const Value& q, const Value& k,
              const Value& v) {
    const Value* const more = added(layer, shape);
    if (layer.softcap != 0) {
      Value capped = activate(tape_, functions_.at(soft_cap(layer.softcap)),
                              score(tape_, shape, q, k, static_cast<const Value*>(nullptr)));
      if (more != nullptr) capped = blend(tape_, 1.0, capped, 1.0, *more);
      return attend_by(tape_, shape, capped, v);
    }
    if (more != nullptr) return attend_by(tape_, shape, score(tape_, shape, q, k, more), v);
    if (!layer.residual_attention) return attend(tape_, shape, q, k, v);
    carried_.scores = score(tape_, shape, q, k, carried_.scores ? &*carried_.scores : nullptr);
    return attend_by(tape_, shape, *carried_.scores, v);
  }

  /// skip * `onto` + branch * f.
  Value sum(const Residual& layer, const std::optional<Value>& scalar, double skip,
            const Value& onto, const Value& f) {
    if (scalar && layer.scale_features > 1) {
      // The gradient of a shift is made with that of the gain.
      const Value shift = tape_.leaf(row_of(f, 0.0));
      return blend(tape_, skip, onto, 1.0, affine(tape_, f, *scalar, shift));
    }
    return scalar ? blend(tape_, skip, onto, *scalar, f)
                  : blend(tape_, skip, onto, layer.branch, f);
  }
  std::optional<Value> scalar_of(const Residual& layer) {
    return layer.trainable_branch ? std::optional(next()) : std::nullopt;
  }
  Value apply(const Residual& layer, const Value& x) {
    const Value f = run(layer.body, x);
    const std::optional<Value> scalar = scalar_of(layer);
    const Value skip = run(layer.shortcut, x);
    return seen(layer.path, "residual", joined(layer, scalar, skip, f));
  }
  Value joined(const Residual& layer, const std::optional<Value>& scalar, const Value& skip,
               const Value& f) {
    if (!layer.norm || scalar || !is_by_token(layer.norm->kind)) {
      const Value y = sum(layer, scalar, layer.skip, skip, f);
      return layer.norm ? normalised(*layer.norm, y) : y;
    }
    const bool centred = layer.norm->kind == NormKind::layernorm;
    return affine_of(*layer.norm, blend_normalised(tape_, centred, layer.norm->eps, layer.skip,
                                                   skip, layer.branch, f));
  }
  Value apply(const DualStream& layer, Value x) {
    Value z = x;
    for (const Residual& sublayer : layer.sublayers) {
      const Value f = run(sublayer.body, x);
      const std::optional<Value> scalar = scalar_of(sublayer);
      z = sum(sublayer, scalar, 1.0, z, f);
      x = sum(sublayer, scalar, sublayer.skip, x, f);
      x = seen(sublayer.path, "residual", sublayer.norm ? normalised(*sublayer.norm, x) : x);
    }
    const Value dual = apply(layer.norm, z);
    return seen(layer.path, "dual", blend(tape_, 1.0, x, 1.0, dual));
  }

  Value apply(const Parallel& layer, const Value& x) {
    Value y = run(layer.branches.front(), x);
    for (std::size_t i = 1; i < layer.branches.size(); ++i)
      y = blend(tape_, 1.0, y, 1.0, run(layer.branches[i], x));
    return seen(layer.path, "parallel", y);
  }

  /// Every expert sees every token; those that a token has not chosen weigh 0 in its sum.
  Value apply(const Experts& layer, const Value& x) {
    const Value weights =
        route(tape_,
              {x.value.rows(), static_cast<std::int64_t>(layer.experts.size()), layer.top_k,
               layer.score == Experts::Score::sigmoid, layer.normalised},
              apply(layer.router, x));
    std::optional<Value> y;
    for (std::size_t e = 0; e < layer.experts.size(); ++e) {
      const Value made =
          weigh_rows(tape_, run(layer.experts[e], x), weights, static_cast<std::int64_t>(e));
      y = y ? blend(tape_, 1.0, *y, 1.0, made) : made;
    }
    return seen(layer.path, "experts", *y);
  }

  Value apply(const Gated& layer, const Value& x) {
    const Value gate = activated(layer.gate, layer.function, x);
    return seen(layer.path, "gated", multiply(tape_, gate, apply(layer.in, x)));
  }
  Value apply(const Dropout& layer, const Value& x) {
    const double dropped = rate(layer.rate);
    const std::int64_t shared = layer.per_sample ? tokens(x) * x.value.columns() : 1;
    const Value y = dropped > 0.0 ? drop(tape_, mask(layer.path), dropped, x, shared) : x;
    return seen(layer.path, "dropout", y);
  }
  Value apply(const Conv2d& layer, const Value& x) {
    const ConvShape shape{network_.batch,     layer.height, layer.width,  layer.in_channels,
                          layer.out_channels, layer.kernel, layer.stride, layer.padding,
                          layer.groups,       layer.one_row};
    const Value w = weight(layer.weight);
    const std::optional<Value> b = bias(layer.weight);
    if (layer.transposed)
      return seen(layer.path, "conv2d",
                  convolve_transposed(tape_, shape, layer.out_height(), layer.out_width(), x, w,
                                      b ? &*b : nullptr));
    return seen(layer.path, "conv2d", convolve(tape_, shape, x, w, b ? &*b : nullptr));
  }
  Value apply(const Pool& layer, const Value& x) {
    const std::int64_t all = tokens(x), skipped = layer.class_tokens;
    if (layer.of == Pool::Of::first || layer.of == Pool::Of::last) {
      const std::int64_t at = layer.of == Pool::Of::first ? 0 : all - 1;
      return seen(layer.path, "pool", take(tape_, all, at, 1, x));
    }
    if (layer.of == Pool::Of::all || skipped == 0)
      return seen(layer.path, "pool", pool(tape_, all, x));
    const Value rest = take(tape_, all, skipped, all - skipped, x);
    return seen(layer.path, "pool", pool(tape_, all - skipped, rest));
  }
  Value apply(const MaxPool& layer, const Value& x) {
    const ConvShape shape{network_.batch, layer.height,   layer.width,
                          layer.channels, layer.channels, layer.kernel,
                          layer.stride,   layer.padding,  1};
    return seen(layer.path, "max_pool", max_pool(tape_, shape, x));
  }
  Value apply(const Upsample& layer, const Value& x) {
    return seen(
        layer.path, "upsample",
        upsample(tape_, {network_.batch, layer.height, layer.width, layer.channels, layer.factor},
                 x));
  }
  Value apply(const Concat& layer, const Value& x) {
    return seen(layer.path, "concat", concat(tape_, x, run(layer.body, x)));
  }
  Value apply(const ClassTokens& layer, Value x) {
    if (layer.count > 0) x = prepend(tape_, tokens(x), next(), x);
    if (layer.position_std != 0.0) x = add_positions(tape_, x, next());
    if (layer.sinusoids) x = add_positions(tape_, x, sinusoids(tape_, layer));
    return seen(layer.path, "embedding", x);
  }
  Value apply(const Embedding& layer, const Value&) {
    Value x = embed(tape_, next(), in_encoder_ ? drawn_.data.memory_ids : drawn_.data.ids);
    if (layer.multiplier != 1.0) x = scale(tape_, layer.multiplier, x);
    if (layer.position_std != 0.0) x = add_positions(tape_, x, next());
    if (layer.segments > 0) x = add_positions(tape_, x, part(tape_, next(), 0, 1, layer.width));
    return seen(layer.path, "embedding", x);
  }

  /// What the encoder starts from.
  Value memory_input(const Encoder& layer) {
    if (network_.input == InputKind::tokens && network_.memory_features == 0) return {};
    if (observer_ == nullptr) return tape_.constant(drawn_.data.memory);
    return seen(layer.path + ".input", "input", tape_.leaf(drawn_.data.memory));
  }
  Value apply(const Encoder& layer, const Value& x) {
    const auto scores = std::exchange(carried_.scores, std::nullopt);
    in_encoder_ = true;
    carried_.memory = run(layer.layers, memory_input(layer));
    in_encoder_ = false;
    carried_.scores = scores;
    return x;
  }
  Value apply(const ConditionLayer& layer, const Value& x) {
    Value c = tape_.leaf(drawn_.data.condition);
    c = run(layer.layers, seen(layer.path + ".input", "input", std::move(c)));
    if (layer.classes > 0) c = blend(tape_, 1.0, c, 1.0, embed(tape_, next(), drawn_.data.labels));
    carried_.condition = run(layer.activated, seen(layer.path, "condition", std::move(c)));
    return x;
  }
  Value apply(const Modulation& layer, const Value& x) {
    const Value factor = apply(layer.factor, *carried_.condition);
    std::optional<Value> shift;
    if (layer.shift) shift = apply(*layer.shift, *carried_.condition);
    return seen(layer.path, "modulation",
                modulate(tape_, x, tokens(x), factor, shift ? &*shift : nullptr));
  }

  const Network& network_;
  const Functions& functions_;
  const Drawn<Real>& drawn_;
  Tape<Real>& tape_;
  Observer<Real>* observer_;
  const Linear* head_;
  Progress at_;
  Carried<Real> carried_;
  std::optional<Value> biases_;  ///< the last attention's
  std::pair<double, std::int64_t> biases_of_;
  std::optional<Value> relative_;  ///< of the last table
  std::size_t relative_of_ = 0;
  std::optional<Tensor<Real>> turns_;  ///< likewise
  Rotary turns_of_;
  bool in_encoder_ = false;
};

}  // namespace scalecalc::passes
