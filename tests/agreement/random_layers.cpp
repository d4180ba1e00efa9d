#include <cmath>
#include <utility>

#include "random_models.hpp"

namespace scalecalc::random_models {
namespace {

using Type = LayerSpec::Type;
using List = std::vector<LayerSpec>;

struct Shape {
  std::int64_t features = 0, tokens = 0;
  std::int64_t side = 0;  ///< of a square image; 0: none
  bool operator==(const Shape&) const = default;
};

LayerSpec layer(Type type) {
  LayerSpec made;
  made.type = type;
  return made;
}

/// Writes a list of layers and keeps the shape of what flows through it.
class Writer {
 public:
  Writer(Draws& draw, ModelSpec& spec, Shape shape) : draw_(draw), spec_(spec), shape_(shape) {}

  const Shape& shape() const { return shape_; }
  /// Features of what cross-attention reads; 0: nothing does.
  std::int64_t memory() const { return memory_; }
  /// Without attention to the memory.
  Writer& within_encoder() {
    memory_ = none_;
    return *this;
  }

  /// Some units, each of a few layers that belong together.
  List units(int count, int nesting) {
    List list;
    for (int k = 0; k < count; ++k) unit(list, nesting);
    return list;
  }

 private:
  void unit(List& list, int nesting) {
    const std::size_t kind = draw_.below(20);
    if (kind < 5) return dense(list);
    if (kind < 7) return attention_or(list);
    if (kind < 9) return gated(list);
    if (kind < 11) return norm(list);
    if (kind < 12) return dropout(list);
    if (kind < 14) return convolution_or(list, true);
    if (nesting >= 3) return dense(list);
    Draws more = draw_.apart();
    if (more.chance(15)) return beside(list, more, nesting);
    if (kind < 18) return residual(list, nesting);
    repeat(list, nesting);
  }

  /// A skip that is concatenated with what follows, of an image half as large where there is one.
  void beside(List& list, Draws& draw, int nesting) {
    LayerSpec made = layer(Type::concat);
    const Shape before = shape_;
    const bool is_smaller = shape_.side >= 3;
    if (is_smaller) smaller(made.layers, draw);
    const std::int64_t count = draw.between(is_smaller ? 0 : 1, 2);
    for (std::int64_t k = 0; k < count; ++k) branch_unit(made.layers, nesting + 1);
    if (is_smaller) larger(made.layers, draw, before.side);
    shape_.side = before.side;
    shape_.tokens = before.tokens;
    shape_.features += before.features;
    list.push_back(made);
    LayerSpec mixed = layer(before.side > 0 ? Type::conv2d : Type::linear);
    mixed.width = shape_.features = draw.of<std::int64_t>({12, 24, 32});
    if (draw.chance(20)) norm(list);
    list.push_back(mixed);
    if (draw.chance(85)) list.push_back(layer(Type::activation));
  }

  /// Half of the side, rounded up.
  void smaller(List& list, Draws& draw) {
    LayerSpec made = layer(draw.chance(50) ? Type::max_pool : Type::conv2d);
    made.kernel = made.type == Type::conv2d ? 3 : shape_.side % 2 == 0 ? 2 : 3;
    made.stride = 2;
    made.padding = made.kernel / 2 * (made.kernel % 2);
    if (made.type == Type::conv2d) made.width = shape_.features = draw.of<std::int64_t>({12, 24});
    shape_.side = (shape_.side + 1) / 2;
    shape_.tokens = shape_.side * shape_.side;
    list.push_back(made);
    if (made.type == Type::conv2d && draw.chance(85)) list.push_back(layer(Type::activation));
  }

  /// Twice the side, or one less.
  void larger(List& list, Draws& draw, std::int64_t side) {
    LayerSpec made = layer(Type::conv_transpose2d);
    made.width = draw.of<std::int64_t>({8, 12, 24});
    made.stride = 2;
    if (side % 2 == 1) {
      made.kernel = 3;
      made.padding = 1;
    } else if (draw.chance(50)) {
      made = layer(Type::upsample);
    } else {
      made.kernel = draw.of<std::int64_t>({2, 4});
      made.padding = made.kernel / 4;
    }
    if (made.type == Type::conv_transpose2d) shape_.features = made.width;
    list.push_back(made);
    if (draw.chance(40)) {
      LayerSpec conv = layer(Type::conv2d);
      conv.width = shape_.features = draw.of<std::int64_t>({8, 12, 24});
      conv.kernel = 3;
      conv.padding = 1;
      list.push_back(conv);
      list.push_back(layer(Type::activation));
    }
  }

  void dense(List& list) {
    LayerSpec made =
        linear(draw_.chance(60) ? shape_.features : draw_.of<std::int64_t>({12, 25, 32, 48}));
    vary(made);
    if (draw_.chance(4))
      made.weight_norm = draw_.of({WeightNorm::demodulated, WeightNorm::spectral});
    list.push_back(made);
    if (draw_.chance(30)) norm(list);
    if (draw_.chance(85)) activation(list);
  }

  LayerSpec linear(std::int64_t width) {
    LayerSpec made = layer(Type::linear);
    made.width = shape_.features = width;
    return made;
  }

  void activation(List& list) {
    LayerSpec made = layer(Type::activation);
    if (draw_.chance(50)) made.activation = random_activation(draw_);
    list.push_back(made);
  }

  /// A norm with enough numbers to act on.
  NormKind norm_kind() {
    const auto kind =
        draw_.of({NormKind::layernorm, NormKind::layernorm, NormKind::rmsnorm, NormKind::rmsnorm,
                  NormKind::scalenorm, NormKind::batchnorm, NormKind::instancenorm});
    const std::int64_t samples =
        kind == NormKind::batchnorm ? shape_.tokens * spec_.batch : shape_.tokens;
    const bool over_samples = kind == NormKind::batchnorm || kind == NormKind::instancenorm;
    const bool too_few = over_samples && samples < fewest_samples;
    return too_few ? NormKind::rmsnorm : kind;
  }

  void norm(List& list) {
    LayerSpec made = layer(Type::norm);
    made.norm = norm_kind();
    if (draw_.chance(15)) made.affine = true;
    if (draw_.chance(10)) made.eps = 1e-3;
    list.push_back(made);
  }

  void dropout(List& list) {
    LayerSpec made = layer(Type::dropout);
    made.dropout = draw_.of({0.1, 0.2, 0.4});
    list.push_back(made);
  }

  void gated(List& list) {
    LayerSpec made = layer(Type::gated);
    made.width = draw_.of<std::int64_t>({16, 31, 48});
    made.activation = random_activation(draw_);
    vary(made);
    shape_.features = made.width;
    list.push_back(made);
    if (draw_.chance(70)) list.push_back(linear(draw_.of<std::int64_t>({16, 24, 32})));
  }

  void attention_or(List& list) {
    if (shape_.tokens < 2) return dense(list);
    LayerSpec made = layer(Type::attention);
    std::vector<std::int64_t> heads;
    for (std::int64_t k = 1; k <= 8; ++k)
      if (shape_.features % k == 0) heads.push_back(k);
    made.heads = draw_.of(heads);
    if (draw_.chance(25)) made.kv_heads = 1;
    made.causal = draw_.chance(40);
    made.qk_norm = draw_.chance(20);
    if (draw_.chance(15)) made.norm = draw_.of({NormKind::layernorm, NormKind::rmsnorm});
    if (draw_.chance(15)) made.dropout = 0.1;
    if (draw_.chance(8) && (memory_ == 0 || memory_ == shape_.features)) {
      made.memory = true;
      memory_ = shape_.features;
    }
    Draws more = draw_.apart();
    Draws norms = more.apart();
    if (made.qk_norm) {
      made.qk_norm_all = norms.chance(30);
      if (norms.chance(30)) made.eps = norms.of({1e-6, 0.1, 1.0});
    }
    if (!made.memory && shape_.features / made.heads >= 2 && more.chance(15))
      made.rotary_base = more.of({10.0, 10000.0});
    else if (made.causal && !made.memory && more.chance(15))
      made.alibi = 1;
    if (made.causal && !made.memory && more.chance(15)) made.window = more.of<std::int64_t>({2, 5});
    Draws last = more.apart();
    if (made.rotary_base != 0 && last.chance(40)) {
      made.rotary.scaling = last.of({RotaryScaling::llama3, RotaryScaling::yarn});
      made.rotary.factor = 8;
      made.rotary.original = last.of<std::int64_t>({8, 32});
    }
    vary(made);
    list.push_back(made);
  }

  void convolution_or(List& list, bool may_stride) {
    if (shape_.side < 3) {
      Draws more = draw_.apart();
      return shape_.tokens >= 3 && more.chance(40) ? along(list, more, may_stride) : dense(list);
    }
    LayerSpec made = layer(Type::conv2d);
    made.width = draw_.chance(50) ? shape_.features : draw_.of<std::int64_t>({8, 12, 24});
    made.kernel = draw_.of<std::int64_t>({1, 3, 3});
    made.padding = made.kernel / 2;
    if (draw_.chance(20)) made.padding = 0;
    if (may_stride && draw_.chance(30)) made.stride = 2;
    if (!may_stride) made.padding = made.kernel / 2;
    if (shape_.features % 4 == 0 && made.width % 4 == 0 && draw_.chance(20)) made.groups = 4;
    vary(made);
    shape_.features = made.width;
    shape_.side = (shape_.side + 2 * made.padding - made.kernel) / made.stride + 1;
    shape_.tokens = shape_.side * shape_.side;
    list.push_back(made);
    if (draw_.chance(30)) norm(list);
    if (draw_.chance(85)) activation(list);
    Draws more = draw_.apart();
    if (may_stride && shape_.side >= 3 && more.chance(25)) largest(list, more);
  }

  /// A convolution along the tokens.
  void along(List& list, Draws& draw, bool may_stride) {
    LayerSpec made = layer(Type::conv1d);
    made.width = draw.chance(50) ? shape_.features : draw.of<std::int64_t>({8, 12, 24});
    made.kernel = draw.of<std::int64_t>({1, 3, 3});
    made.padding = made.kernel / 2;
    if (may_stride && draw.chance(40)) made.stride = 2;
    if (shape_.features % 4 == 0 && made.width % 4 == 0 && draw.chance(20)) made.groups = 4;
    shape_.features = made.width;
    shape_.tokens = (shape_.tokens + 2 * made.padding - made.kernel) / made.stride + 1;
    list.push_back(made);
    LayerSpec bent = layer(Type::activation);
    if (draw.chance(50)) bent.activation = random_activation(draw);
    if (draw.chance(85)) list.push_back(bent);
  }

  void largest(List& list, Draws& draw) {
    LayerSpec made = layer(Type::max_pool);
    made.kernel = draw.of<std::int64_t>({2, 3});
    made.stride = draw.of<std::int64_t>({1, 2});
    made.padding = draw.chance(50) ? made.kernel / 2 : 0;
    shape_.side = (shape_.side + 2 * made.padding - made.kernel) / made.stride + 1;
    shape_.tokens = shape_.side * shape_.side;
    list.push_back(made);
  }

  /// What a single matrix may have of its own.
  void vary(LayerSpec& made) {
    if (draw_.chance(10)) made.bias = true;
    if (draw_.chance(10)) made.gain = parse(draw_.of({"1/2", "3/2"}));
    if (draw_.chance(6)) made.distribution = Distribution::uniform;
  }

  /// One unit of a branch, which keeps the number of tokens.
  void branch_unit(List& list, int nesting) {
    const std::size_t kind = draw_.below(12);
    if (kind < 4) return dense(list);
    if (kind < 6) return attention_or(list);
    if (kind < 7) return gated(list);
    if (kind < 8) return dropout(list);
    if (kind < 10) return convolution_or(list, false);
    if (nesting >= 3) return dense(list);
    residual(list, nesting);
  }

  void residual(List& list, int nesting) {
    LayerSpec made = layer(Type::residual);
    const Shape before = shape_;
    if (draw_.chance(50)) norm(made.layers);
    const std::int64_t count = draw_.between(1, 2);
    for (std::int64_t k = 0; k < count; ++k) branch_unit(made.layers, nesting + 1);
    if (shape_.features != before.features && draw_.chance(30)) {
      const std::int64_t width = shape_.features;
      made.shortcut.push_back(linear(width));
      if (draw_.chance(40)) norm(made.shortcut);
    } else if (shape_.features != before.features || draw_.chance(50)) {
      made.layers.push_back(linear(before.features));
    }
    if (draw_.chance(30)) made.norm = norm_kind();
    if (draw_.chance(25)) made.branch = parse(draw_.of({"1/2", "1/10", "2"}));
    if (draw_.chance(15)) made.skip = parse(draw_.of({"1/2", "3/2"}));
    made.trainable = draw_.chance(10);
    list.push_back(made);
  }

  /// Some units that give back the shape they found.
  void repeat(List& list, int nesting) {
    LayerSpec made = layer(Type::repeat);
    const Shape before = shape_;
    const std::int64_t count = draw_.between(1, 2);
    for (std::int64_t k = 0; k < count; ++k) branch_unit(made.layers, nesting + 1);
    if (shape_.features != before.features) made.layers.push_back(linear(before.features));
    made.times = draw_.of({2, 3});
    list.push_back(made);
  }

  Draws& draw_;
  ModelSpec& spec_;
  Shape shape_;
  static constexpr std::int64_t none_ = -1;
  std::int64_t memory_ = 0;  ///< features of what cross-attention reads, the same everywhere
};

/// What makes a memory of so many features, of the same kind of input as the model's.
LayerSpec encoder(Draws& draw, ModelSpec& spec, std::int64_t width) {
  LayerSpec made = layer(Type::encoder);
  const bool tokens = spec.input.kind == InputKind::tokens;
  if (tokens) made.layers.push_back(spec.layer_list.front());
  Writer writer(draw, spec, {spec.features, spec.memory.sequence, 0});
  for (LayerSpec& inner : writer.within_encoder().units(static_cast<int>(draw.between(1, 2)), 2))
    made.layers.push_back(std::move(inner));
  LayerSpec last = layer(Type::linear);
  last.width = width;
  made.layers.push_back(last);
  if (tokens) spec.memory.cross = 0;
  return made;
}

}  // namespace

ModelSpec random_layers(Draws& draw) {
  ModelSpec spec = default_spec(ModelSpec::Kind::layers);
  spec.batch = draw.of<std::int64_t>({1, 1, 2, 4});
  Shape shape{draw.of<std::int64_t>({8, 15, 24, 32}), 0, 0};
  if (draw.chance(50)) {
    shape.side = draw.of<std::int64_t>({3, 4, 5, 6});
    shape.tokens = shape.side * shape.side;
  } else {
    shape.tokens = draw.of<std::int64_t>({2, 3, 7, 12, 48});
  }
  spec.features = shape.features;
  spec.sequence = shape.tokens;
  spec.activation = random_activation(draw);
  draw_input(draw, spec);
  draw_loss(draw, spec);
  draw_init(draw, spec);
  if (spec.input.kind == InputKind::tokens) {
    LayerSpec embedding = layer(Type::embedding);
    embedding.vocab = draw.of<std::int64_t>({5, 40});
    embedding.width = shape.features;
    spec.layer_list.push_back(embedding);
  }
  Writer writer(draw, spec, shape);
  for (LayerSpec& made : writer.units(static_cast<int>(draw.between(1, 5)), 1))
    spec.layer_list.push_back(std::move(made));
  if (draw.chance(25)) spec.layer_list.push_back(layer(Type::pool));
  spec.vocab = draw.of<std::int64_t>({3, 10, 64});
  if (writer.memory() > 0 && draw.chance(60)) {
    const auto first = spec.input.kind == InputKind::tokens ? 1 : 0;
    spec.layer_list.insert(spec.layer_list.begin() + first, encoder(draw, spec, writer.memory()));
  }
  return spec;
}

}  // namespace scalecalc::random_models
