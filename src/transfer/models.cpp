#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "scalecalc/named_parameters.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/transfer.hpp"
#include "transfer/tree.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t factor = 2;       ///< between the two sizes of a layout
constexpr std::int64_t small_depth = 2;  ///< blocks that show all patterns of paths
constexpr std::int64_t even_heads = 4;   ///< widens a model so that its heads can be halved

constexpr std::size_t no_tensor = std::numeric_limits<std::size_t>::max();

bool has_shapes(GrowthAxis axis) {
  return axis == GrowthAxis::width || axis == GrowthAxis::heads || axis == GrowthAxis::experts;
}

/// Widths of layers, but of the head; of those that name one.
void grow_list(std::vector<LayerSpec>& layers, std::int64_t times, bool last_is_head) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerSpec& layer = layers[i];
    if (!(last_is_head && i + 1 == layers.size())) layer.width *= times;
    layer.head_width *= times;
    grow_list(layer.layers, times, false);
    grow_list(layer.shortcut, times, false);
  }
}
void grow_heads(std::vector<LayerSpec>& layers, std::int64_t times) {
  for (LayerSpec& layer : layers) {
    if (layer.type == LayerSpec::Type::attention) {
      layer.heads *= times;
      layer.kv_heads *= times;
    }
    grow_heads(layer.layers, times);
  }
}

/// The axis' exponent of a size that is `small` at ratio 1 and `large` at `factor`; sizes with a
/// constant part grow as their largest term.
Rational exponent(double small, double large) {
  const double power = std::log(large / small) / std::log(static_cast<double>(factor));
  if (std::abs(power) < 1e-12) return 0;
  const double whole = std::round(power);
  if (std::abs(power - whole) < 1e-9) return static_cast<std::int64_t>(whole);
  return power > 0 ? 1 : -1;
}

/// Of a scale, which may be a root: to the nearest twelfth.
Rational scale_exponent(double small, double large) {
  const double power = std::log(large / small) / std::log(static_cast<double>(factor));
  return {static_cast<std::int64_t>(std::llround(power * 12)), 12};
}

TensorKind kind_of(const PlacedParameter& parameter, const Rational& fan_in,
                   const Rational& fan_out) {
  const ParameterInfo& info = parameter.info;
  if (!info.is_matrix) {
    if (parameter.is_closed_factor && info.columns == 1) return TensorKind::scalar;
    if (parameter.is_gain) return TensorKind::norm_gain;
    return info.role == "head" ? TensorKind::output_bias : TensorKind::bias;
  }
  if (info.role == "head") return TensorKind::output;
  if (info.role == "router") return TensorKind::router;
  if (info.role == "embedding" || (fan_in.is_zero() && !fan_out.is_zero()))
    return TensorKind::embedding;
  return fan_in.is_zero() ? TensorKind::scalar : TensorKind::hidden;
}

ModelSpec shallow(ModelSpec spec) {
  spec.layers = std::min(spec.layers, small_depth);
  if (!spec.alpha) spec.alpha = Expr(1);
  if (!spec.lambda) spec.lambda = Expr(1);
  return spec;
}

/// The same model at two sizes of one axis.
struct Pair {
  PlacedNetwork small, large;
};
Pair laid_out(const ModelSpec& spec, GrowthAxis axis) {
  ModelSpec base = spec;
  // Heads of an even width, whose number grows.
  if (axis == GrowthAxis::heads && spec.head_width == 0)
    base = grown(spec, GrowthAxis::width, even_heads);
  const ModelSpec more = grown(base, axis, factor);
  return {placed(build_network(base)), placed(build_network(more))};
}

bool same_shapes(const Pair& pair) {
  return std::ranges::equal(pair.small.parameters, pair.large.parameters,
                            [](const PlacedParameter& a, const PlacedParameter& b) {
                              return a.info.rows == b.info.rows && a.info.columns == b.info.columns;
                            });
}

/// Fills in exponents on one axis.
class AxisReader {
 public:
  AxisReader(GrowthAxis axis, const Pair& pair, const std::vector<std::size_t>& tensor_of,
             TransferModel& model)
      : axis_(axis), pair_(pair), tensor_of_(tensor_of), model_(model) {}

  void run() {
    const std::vector<PlacedParameter>& small = pair_.small.parameters;
    const std::vector<PlacedParameter>& large = pair_.large.parameters;
    if (small.size() != tensor_of_.size() || large.size() != tensor_of_.size())
      throw Error(ErrorKind::input,
                  fmt::format("the model has other parameters when its {} grows", to_string(axis_)),
                  "transfer", "leave the axis out with --axes");
    for (std::size_t i = 0; i < small.size(); ++i) {
      if (tensor_of_[i] == no_tensor) continue;
      TransferTensor& found = model_.tensors[tensor_of_[i]];
      const ParameterInfo &a = small[i].info, &b = large[i].info;
      const bool is_vector = !a.is_matrix;
      found.fan_in[axis_] = is_vector ? Rational(0) : exponent(a.rows, b.rows);
      found.fan_out[axis_] = exponent(a.columns, b.columns);
    }
    if (pair_.small.head_width)
      (*model_.head_width)[axis_] = exponent(*pair_.small.head_width, *pair_.large.head_width);
    model_.attention_scale[axis_] =
        scale_exponent(pair_.small.attention_scale, pair_.large.attention_scale);
    set_stream();
  }

 private:
  /// A tied head is the table's transpose; the stream is what the head reads.
  void set_stream() {
    std::vector<TransferTensor>& tensors = model_.tensors;
    const auto table = std::ranges::find_if(tensors, [](const TransferTensor& tensor) {
      return tensor.is_tied && tensor.kind == TensorKind::embedding;
    });
    Rational stream;
    for (TransferTensor& tensor : tensors) {
      if (tensor.kind != TensorKind::output) continue;
      if (tensor.is_tied) {
        tensor.fan_in[axis_] = table->fan_out[axis_];
        tensor.fan_out[axis_] = table->fan_in[axis_];
      }
      stream = tensor.fan_in[axis_];
    }
    for (TransferTensor& tensor : tensors) tensor.stream[axis_] = stream;
  }

  GrowthAxis axis_;
  const Pair& pair_;
  const std::vector<std::size_t>& tensor_of_;  ///< of each parameter
  TransferModel& model_;
};

TransferTensor described(const PlacedParameter& parameter, TensorKind kind,
                         const PlacedNetwork& network) {
  TransferTensor tensor;
  tensor.kind = kind;
  tensor.role = parameter.info.role;
  tensor.is_matrix = parameter.info.is_matrix;
  tensor.in_branch = parameter.in_branch;
  tensor.matrices = std::max(1, parameter.matrices);
  tensor.behind_stream =
      parameter.behind_stream || kind == TensorKind::output || kind == TensorKind::output_bias;
  // The table of words; positions and segments are tables of their own.
  tensor.is_tied = network.has_tied_head && parameter.path == "embedding.weight";
  return tensor;
}

/// The tensors of a model, each for all paths of one pattern and kind, and which one each
/// parameter belongs to.
struct Patterns {
  TransferModel model;
  std::vector<std::size_t> tensor_of;
};
Patterns patterns_of(const ModelSpec& spec, const Pair& in_width) {
  Patterns result;
  TransferModel& model = result.model;
  const PlacedNetwork& small = in_width.small;
  model.norm = small.norm;
  model.starts_closed = small.starts_closed;
  model.has_branches = small.has_branches;
  if (small.head_width) model.head_width = Exponents();
  std::map<std::pair<std::string, TensorKind>, std::size_t> known;
  for (std::size_t i = 0; i < small.parameters.size(); ++i) {
    const PlacedParameter& parameter = small.parameters[i];
    if (is_ours_alone(spec, parameter.path)) {
      result.tensor_of.push_back(no_tensor);
      continue;
    }
    const ParameterInfo& more = in_width.large.parameters[i].info;
    const TensorKind kind = kind_of(parameter, exponent(parameter.info.rows, more.rows),
                                    exponent(parameter.info.columns, more.columns));
    const std::string pattern = path_pattern(parameter.path);
    const auto [found, is_new] = known.try_emplace({pattern, kind}, model.tensors.size());
    result.tensor_of.push_back(found->second);
    if (!is_new) continue;
    TransferTensor tensor = described(parameter, kind, small);
    // Of one pattern may be the first of a stack, which maps the input, and all others.
    tensor.repeats =
        tensor.in_branch || (kind != TensorKind::embedding && pattern != parameter.path);
    tensor.name = kind == TensorKind::embedding ? parameter.path : pattern;
    model.tensors.push_back(std::move(tensor));
  }
  if (small.has_tied_head) {
    TransferTensor head;
    head.name = "head.weight";
    head.role = "head";
    head.kind = TensorKind::output;
    head.behind_stream = head.is_tied = true;
    model.tensors.push_back(std::move(head));
  }
  return result;
}

}  // namespace

ModelSpec grown(const ModelSpec& spec, GrowthAxis axis, std::int64_t times) {
  ModelSpec result = spec;
  switch (axis) {
    case GrowthAxis::width:
      result.width *= times;
      result.ffn *= times;
      result.expert_ffn *= times;
      result.shared_ffn *= times;
      result.head_width *= times;
      grow_list(result.layer_list, times, spec.vocab == 0);
      break;
    case GrowthAxis::depth: result.layers *= times; break;
    case GrowthAxis::heads:
      result.heads *= times;
      result.kv_heads *= times;
      grow_heads(result.layer_list, times);
      break;
    case GrowthAxis::experts:
      if (spec.experts == 0)
        throw Error(ErrorKind::input, "the model has no experts", "--axes experts",
                    "leave the axis out");
      throw Error(ErrorKind::input, "what a number of experts asks of a model is not derived yet",
                  "--axes experts", "leave the axis out");
    case GrowthAxis::batch:
    case GrowthAxis::tokens: break;
  }
  return result;
}

TransferModel generic_transfer_model(int matrices) {
  if (matrices < 1)
    throw Error(ErrorKind::input, "a branch has at least one matrix", "--matrices",
                "for example --matrices 2");
  TransferModel model;
  const auto add = [&](TensorKind kind, bool grows_in, bool grows_out, bool inside) {
    TransferTensor tensor;
    tensor.name = to_string(kind);
    tensor.role = kind == TensorKind::output   ? "head"
                  : kind == TensorKind::hidden ? "linear"
                                               : tensor.name;
    tensor.kind = kind;
    tensor.is_matrix = kind != TensorKind::bias;
    tensor.fan_in[GrowthAxis::width] = grows_in ? 1 : 0;
    tensor.fan_out[GrowthAxis::width] = grows_out ? 1 : 0;
    tensor.stream[GrowthAxis::width] = 1;
    tensor.repeats = tensor.in_branch = inside;
    tensor.matrices = matrices;
    tensor.behind_stream = kind == TensorKind::output;
    model.tensors.push_back(std::move(tensor));
  };
  add(TensorKind::embedding, false, true, false);
  add(TensorKind::hidden, true, true, true);
  add(TensorKind::output, true, false, false);
  add(TensorKind::bias, false, true, true);
  return model;
}

TransferModel transfer_model(const ModelSpec& spec, const std::vector<GrowthAxis>& axes) {
  const ModelSpec base = shallow(spec);
  const Pair in_width = laid_out(base, GrowthAxis::width);
  Patterns patterns = patterns_of(base, in_width);
  TransferModel& model = patterns.model;
  for (const GrowthAxis axis : axes) {
    if (!has_shapes(axis)) continue;
    const Pair pair = axis == GrowthAxis::width ? in_width : laid_out(base, axis);
    if (same_shapes(pair) && pair.small.head_width == pair.large.head_width)
      throw Error(ErrorKind::input,
                  fmt::format("no shape of the model grows with its {}", to_string(axis)),
                  "--axes " + to_string(axis), "leave the axis out");
    AxisReader(axis, pair, patterns.tensor_of, model).run();
  }
  return std::move(model);
}

}  // namespace scalecalc
