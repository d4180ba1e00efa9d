#include "network/layer_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/layer_spec.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Type = LayerSpec::Type;

constexpr double max_times = 1e6;
const char* const fewer = "use fewer repeats or smaller widths";

bool any(const std::vector<LayerSpec>& layers, Type type) {
  return std::any_of(layers.begin(), layers.end(), [&](const LayerSpec& layer) {
    return layer.type == type || any(layer.layers, type) || any(layer.shortcut, type);
  });
}

struct Scores {
  std::int64_t heads, tokens;
  bool causal;
  bool operator==(const Scores&) const = default;
};
std::string to_string(const Scores& scores) {
  return fmt::format("{} heads, {} tokens{}", scores.heads, scores.tokens,
                     scores.causal ? ", causal" : "");
}

/// Walks the list. Measuring, it stores nothing and goes once through a repeat whose body leaves
/// the shape it found.
class Walk {
 public:
  Walk(const Parts& parts, bool measuring) : parts_(parts), measuring_(measuring) {}

  Extent run(std::vector<Layer>& out) {
    const ModelSpec& model = parts_.spec();
    // Without residuals the whole stack is one branch, as in a plain mlp.
    const bool in_branch = !any(model.layer_list, Type::residual);
    Shape shape = input_shape();
    if (model.vocab != 0) {
      list(model.layer_list, "", shape, in_branch, out, false);
      const Fan in{shape.features, Expr(shape.features)}, classes{model.vocab, Expr(model.vocab)};
      emit({parts_.head(in, classes)}, out);
    } else {
      list(model.layer_list, "", shape, in_branch, out, true);
    }
    return extent_;
  }

 private:
  Shape input_shape() const {
    const ModelSpec& model = parts_.spec();
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

  /// All cross-attention reads the same memory, as wide as the stream where it is read.
  void check_memory(const Layer& layer) {
    const auto* attention = std::get_if<Attention>(&layer.op);
    if (attention == nullptr || !attention->over_memory) return;
    if (memory_width_ != 0 && memory_width_ != attention->k.fan_in)
      throw Error(ErrorKind::input,
                  fmt::format("[attention] {}: the memory cannot have {} features here and {} "
                              "before",
                              attention->path, attention->k.fan_in, memory_width_),
                  {}, "use one width wherever memory = true");
    memory_width_ = attention->k.fan_in;
  }

  /// Scores are added to scores of as many heads and tokens.
  void check_scores(const Layer& layer, const LayerSpec& spec, const std::string& path,
                    std::int64_t tokens) {
    const auto* attention = std::get_if<Attention>(&layer.op);
    if (attention == nullptr || !attention->residual_attention) return;
    const Scores own{attention->heads, tokens, attention->causal};
    if (scores_ && !(*scores_ == own))
      throw layer_error(spec, path,
                        fmt::format("residual_attention adds the scores of {}, which are of {}, "
                                    "and these are of {}",
                                    scored_by_, to_string(*scores_), to_string(own)),
                        "make heads, causal and the number of tokens equal");
    scores_ = own;
    scored_by_ = path;
  }

  void emit(Layer layer, std::vector<Layer>& out) {
    check_memory(layer);
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

  void list(const std::vector<LayerSpec>& layers, const std::string& prefix, Shape& shape,
            bool in_branch, std::vector<Layer>& out, bool last_is_head) {
    const std::vector<std::string> names = path_names(layers);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const bool is_head = last_is_head && i + 1 == layers.size();
      const std::string path = is_head && layers[i].name.empty() ? "head" : prefix + names[i];
      if (layers[i].type == Type::residual)
        residual(layers[i], path, shape, out);
      else if (layers[i].type == Type::repeat)
        repeat(layers[i], path, shape, in_branch, out);
      else
        single(layers[i], {layers[i], path, in_branch && !is_head, is_head}, shape, out);
    }
  }

  void single(const LayerSpec& spec, const Place& place, Shape& shape, std::vector<Layer>& out) {
    Layer layer = single_layer(parts_, place, shape);
    check_scores(layer, spec, place.path, shape.tokens);
    emit(std::move(layer), out);
  }

  void residual(const LayerSpec& spec, const std::string& path, Shape& shape,
                std::vector<Layer>& out) {
    Residual layer;
    layer.path = path;
    layer.skip = evaluate(spec.skip, parts_.values());
    layer.branch = evaluate(spec.branch, parts_.values());
    layer.skip_formula = spec.skip;
    layer.branch_formula = spec.branch;
    layer.trainable_branch = spec.trainable;
    Shape skip = shape;
    list(spec.layers, path + ".", shape, true, layer.body, false);
    list(spec.shortcut, path + ".shortcut.", skip, false, layer.shortcut, false);
    if (!(skip == shape))
      throw layer_error(
          spec, path,
          fmt::format("the branch gives {}, the skip {}", to_string(shape), to_string(skip)),
          "make them equal, or add a [[...shortcut]] that does");
    if (spec.norm && *spec.norm != NormKind::none)
      layer.norm = listed_norm(parts_, spec, path + ".norm", shape);
    emit({std::move(layer)}, out);
  }

  void repeat(const LayerSpec& spec, const std::string& path, Shape& shape, bool in_branch,
              std::vector<Layer>& out) {
    const double times = formula_value(spec.times, parts_.values(), "times");
    if (!(times >= 0 && times <= max_times && times == std::floor(times)))
      throw layer_error(
          spec, path,
          fmt::format("times must be an integer from 0 to {:.0f}, got {}", max_times, times),
          "for example times = 12");
    const auto count = static_cast<std::int64_t>(times);
    for (std::int64_t i = 0; i < count; ++i) {
      const Shape before = shape;
      const Extent extent = extent_;
      list(spec.layers, fmt::format("{}[{}].", path, i), shape, in_branch, out, false);
      if (!measuring_ || !(shape == before)) continue;
      const auto rest = static_cast<double>(count - 1 - i);
      extent_.layers += rest * (extent_.layers - extent.layers);
      extent_.parameters += rest * (extent_.parameters - extent.parameters);
      check_extent(extent_, fewer);
      return;
    }
  }

  const Parts& parts_;
  bool measuring_;
  Extent extent_;
  std::int64_t memory_width_ = 0;
  std::optional<Scores> scores_;  ///< of the last residual attention, at scored_by_
  std::string scored_by_;
};

SpecProblem no_head(const ModelSpec& spec) {
  return {{"classes", "layers"},
          "the last layer must be the head, a linear",
          "end with type = \"linear\", or give classes in [model]",
          spec.layer_list.back().where};
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
  const std::vector<LayerSpec> rest(list.begin() + (first && tokens ? 1 : 0), list.end());
  if (!any(rest, Type::embedding)) return {};
  return SpecProblem{{"input.kind"},
                     "an embedding can only be the first layer, of tokens",
                     "use [input] kind = \"tokens\", and one embedding"};
}

}  // namespace

void add_layer_list(const Parts& parts, std::vector<Layer>& layers) {
  Walk(parts, false).run(layers);
}

Extent measure_layer_list(const Parts& parts) {
  std::vector<Layer> none;
  return Walk(parts, true).run(none);
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
