#include "network/layer_list.hpp"

#include <fmt/format.h>

#include <cmath>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Type = LayerSpec::Type;

const char* const fewer = "use fewer repeats or smaller widths";

bool any(const std::vector<LayerSpec>& layers, Type type) {
  return any_layer(layers, [&](const LayerSpec& layer) { return layer.type == type; });
}

Shape input_shape(const ModelSpec& model) {
  Shape shape{model.features, model.sequence, 0, 0};
  if (model.height != 0) {
    shape.height = model.height;
  } else {
    const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(model.sequence)));
    if (root * root == model.sequence) shape.height = root;
  }
  if (shape.height != 0) shape.width = shape.tokens / shape.height;
  return shape;
}

SpecProblem no_head(const ModelSpec& spec) {
  return {{"classes", "layers"},
          "the last layer must be the head, a linear",
          "end with type = \"linear\", or give classes in [model]",
          spec.layer_list.back().where};
}

/// Of an embedding that is not the first layer of the input, or of an encoder.
bool has_inner_embedding(const std::vector<LayerSpec>& layers, bool may_begin) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerSpec& layer = layers[i];
    if (layer.type == Type::embedding && !(may_begin && i == 0)) return true;
    const bool begins = may_begin && layer.type == Type::encoder;
    if (has_inner_embedding(layer.layers, begins) || has_inner_embedding(layer.shortcut, false))
      return true;
  }
  return false;
}

/// An embedding begins a list that reads tokens, and stands nowhere else.
std::optional<SpecProblem> token_problem(const ModelSpec& spec) {
  const std::vector<LayerSpec>& list = spec.layer_list;
  const bool tokens = spec.input.kind == InputKind::tokens;
  const bool first = list.front().type == Type::embedding;
  if (tokens && !first)
    return SpecProblem{{"input.kind"},
                       "tokens need an embedding as the first layer",
                       "begin with type = \"embedding\", or use kind = \"gaussian\"",
                       list.front().where};
  if (!has_inner_embedding(list, tokens)) return {};
  return SpecProblem{{"input.kind"},
                     "an embedding can only be the first layer, of tokens",
                     "use [input] kind = \"tokens\", and one embedding"};
}

}  // namespace

std::string to_string(const Shape& shape) {
  if (shape.height > 0)
    return fmt::format("{} features at {} x {}", shape.features, shape.height, shape.width);
  return fmt::format("{} features at {} tokens", shape.features, shape.tokens);
}

Extent ListLayout::run(std::vector<Layer>& out) {
  const ModelSpec& model = parts_.spec();
  // Without residuals the whole stack is one branch, as in a plain mlp.
  const bool in_branch = !any(model.layer_list, Type::residual);
  Shape shape = input_shape(model);
  list(model.layer_list, "", shape, in_branch, out, model.vocab == 0);
  if (!attentions.encoder.empty() && !attentions.memory_is_read)
    throw Error(ErrorKind::input, "[encoder] " + attentions.encoder + ": nothing attends to it", {},
                "use memory = true in an attention behind it, or leave it out");
  if (model.vocab != 0) {
    const Fan in{shape.features, Expr(shape.features)}, classes{model.vocab, Expr(model.vocab)};
    emit({parts_.head(in, classes)}, out);
  }
  return extent_;
}

void ListLayout::emit(Layer layer, std::vector<Layer>& out) {
  if (!measuring_) {
    out.push_back(std::move(layer));
    return;
  }
  std::vector<Layer> one;
  one.push_back(std::move(layer));
  const Extent extent = extent_of(one, parts_.spec().sequence);
  extent_.layers += extent.layers;
  extent_.parameters += extent.parameters;
  check_extent(extent_, fewer);
}

void ListLayout::list(const std::vector<LayerSpec>& layers, const std::string& prefix, Shape& shape,
                      bool in_branch, std::vector<Layer>& out, bool last_is_head) {
  const std::vector<std::string> names = path_names(layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool is_head = last_is_head && i + 1 == layers.size();
    const std::string path = is_head && layers[i].name.empty() ? "head" : prefix + names[i];
    const Place place{layers[i], path, in_branch && !is_head, is_head};
    find_kind(layers[i].type)->lay_out(*this, place, shape, out);
  }
}

void ListLayout::repeat(const Place& place, std::int64_t count, Shape& shape,
                        std::vector<Layer>& out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Shape before = shape;
    const Extent extent = extent_;
    list(place.spec.layers, fmt::format("{}[{}].", place.path, i), shape, place.in_branch, out);
    if (!measuring_ || !(shape == before)) continue;
    const auto rest = static_cast<double>(count - 1 - i);
    extent_.layers += rest * (extent_.layers - extent.layers);
    extent_.parameters += rest * (extent_.parameters - extent.parameters);
    check_extent(extent_, fewer);
    return;
  }
}

void add_layer_list(const Parts& parts, std::vector<Layer>& layers) {
  ListLayout(parts, false).run(layers);
}

Extent measure_layer_list(const Parts& parts) {
  std::vector<Layer> none;
  return ListLayout(parts, true).run(none);
}

std::optional<SpecProblem> find_layer_problem(const ModelSpec& spec) {
  if (spec.kind != ModelSpec::Kind::layers) return {};
  if (spec.layer_list.empty())
    return SpecProblem{{"kind"},
                       "kind = \"layers\" without a [[layer]]",
                       "add [[layer]] entries, such as type = \"linear\" and width = 256"};
  try {
    check_layer_specs(spec);
    if (spec.vocab == 0 && spec.layer_list.back().type != Type::linear) return no_head(spec);
    if (auto problem = token_problem(spec)) return problem;
    ModelSpec solved = spec;
    if (!solved.alpha) solved.alpha = 1;
    if (!solved.lambda) solved.lambda = 1;
    measure_layer_list(Parts(solved));
    return {};
  } catch (const Error& error) {
    return SpecProblem{{"layer"}, error.message(), error.hint(), error.where()};
  }
}

}  // namespace scalecalc
