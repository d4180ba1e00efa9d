#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "scalecalc/named_parameters.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/transfer.hpp"
#include "transfer/tree.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t factor = 2;        ///< between the two sizes of a layout
constexpr std::int64_t small_depth = 2;   ///< blocks that show all patterns of paths
constexpr std::int64_t most_of_two = 48;  ///< blocks of an encoder that a decoder belongs to
constexpr std::int64_t even_heads = 4;    ///< widens a model so that its heads can be halved

constexpr std::size_t no_tensor = std::numeric_limits<std::size_t>::max();

bool has_shapes(GrowthAxis axis) {
  return axis != GrowthAxis::batch && axis != GrowthAxis::tokens;
}
/// What grows in number, not in shape.
bool has_copies(GrowthAxis axis) {
  return axis == GrowthAxis::depth || axis == GrowthAxis::experts;
}

/// Widths of layers, but of the head; of those that name one.
void grow_list(std::vector<LayerSpec>& layers, std::int64_t times, bool last_is_head) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerSpec& layer = layers[i];
    // A convolution of each channel by itself stays one, of a fan-in that does not grow.
    if (layer.groups > 1 && layer.groups == layer.width) layer.groups *= times;
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

/// Of few blocks: of a list as few as its formulas in N allow.
ModelSpec shallow(ModelSpec spec, bool deepens) {
  if (!spec.alpha) spec.alpha = Expr(1);
  if (!spec.lambda) spec.lambda = Expr(1);
  if (spec.kind != ModelSpec::Kind::layers) {
    // The depth of a decoder is rounded: what it does at few layers is not what it does at many.
    const std::int64_t most = spec.encoder_decoder ? most_of_two : small_depth;
    // Of one block there may be less than of two: an mlp's first maps the input.
    spec.layers =
        deepens ? std::clamp(spec.layers, small_depth, most) : std::min(spec.layers, most);
    return spec;
  }
  const std::int64_t own = spec.layers;
  for (const std::int64_t depth : {2, 3, 4, 6, 8, 12}) {
    if (depth >= own) break;
    try {
      spec.layers = depth;
      build_network(spec);
      return spec;
    } catch (const Error&) {
      spec.layers = own;
    }
  }
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
                              return a.path == b.path && a.info.rows == b.info.rows &&
                                     a.info.columns == b.info.columns;
                            });
}

/// Which tensor of the model a path is of: its own, or that of its pattern.
class TensorIndex {
 public:
  explicit TensorIndex(const std::vector<TransferTensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) by_name_.try_emplace(tensors[i].name, i);
  }
  std::size_t find(const std::string& path) const {
    const auto found = find_path(by_name_, path);
    return found == by_name_.end() ? no_tensor : found->second;
  }

 private:
  std::map<std::string, std::size_t> by_name_;
};

/// Fills in exponents on one axis.
class AxisReader {
 public:
  AxisReader(GrowthAxis axis, const Pair& pair, TransferModel& model)
      : axis_(axis), pair_(pair), model_(model), index_(model.tensors) {}

  void run() {
    read_shapes();
    if (has_copies(axis_)) read_copies();
    if (axis_ == GrowthAxis::depth) return remark_on_depth();
    if (axis_ == GrowthAxis::experts && !pair_.small.shares_are_normalised)
      model_.remarks.push_back(
          "shares of a softmax over all experts fall as r_E^-1, and what the mixture puts out with "
          "them: norm_topk_prob, or a multiplier r_E behind the mixture, keeps it");
    if (pair_.small.head_width)
      (*model_.head_width)[axis_] = exponent(*pair_.small.head_width, *pair_.large.head_width);
    model_.attention_scale[axis_] =
        scale_exponent(pair_.small.attention_scale, pair_.large.attention_scale);
    set_stream();
  }

 private:
  void read_shapes() {
    std::map<std::string, const PlacedParameter*> larger;
    for (const PlacedParameter& parameter : pair_.large.parameters)
      larger.emplace(parameter.path, &parameter);
    for (const PlacedParameter& parameter : pair_.small.parameters) {
      const std::size_t at = index_.find(parameter.path);
      const auto found = larger.find(parameter.path);
      if (found == larger.end() || (!has_copies(axis_) && larger.size() != count(pair_.small)))
        throw Error(
            ErrorKind::input,
            fmt::format("the model has other parameters when its {} grows", to_string(axis_)),
            "transfer", "leave the axis out with --axes");
      if (at == no_tensor) continue;
      TransferTensor& tensor = model_.tensors[at];
      const ParameterInfo &a = parameter.info, &b = found->second->info;
      tensor.fan_in[axis_] = a.is_matrix ? exponent(a.rows, b.rows) : Rational(0);
      tensor.fan_out[axis_] = exponent(a.columns, b.columns);
    }
  }
  static std::size_t count(const PlacedNetwork& network) { return network.parameters.size(); }

  /// Whether there are more of them. Blocks and experts are one beside the other: of both, the
  /// number grows as the axis does.
  void read_copies() {
    const std::vector<std::size_t> small = counted(pair_.small), large = counted(pair_.large);
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      TransferTensor& tensor = model_.tensors[i];
      const bool grows = small[i] < large[i];
      if (axis_ == GrowthAxis::depth) {
        tensor.repeats = grows;
      } else if (grows) {
        tensor.copies[axis_] = 1;
        tensor.share[axis_] = share_of_expert();
      } else if (tensor.kind == TensorKind::router && !tensor.fan_out[axis_].is_zero()) {
        tensor.share[axis_] = share_of_expert();
      }
    }
  }
  std::vector<std::size_t> counted(const PlacedNetwork& network) const {
    std::vector<std::size_t> counts(model_.tensors.size());
    for (const PlacedParameter& parameter : network.parameters)
      if (const std::size_t at = index_.find(parameter.path); at != no_tensor) ++counts[at];
    return counts;
  }
  /// Of k chosen among E: k/E of the tokens, by weights of 1/k, or of 1/E where these are shares of
  /// a softmax over all.
  Rational share_of_expert() const { return pair_.small.shares_are_normalised ? -1 : -2; }

  void remark_on_depth() {
    if (std::ranges::none_of(model_.tensors, &TransferTensor::repeats))
      throw Error(ErrorKind::input, "nothing of the model repeats with its depth",
                  "--axes " + to_string(axis_), "leave the axis out, for example --axes width");
    remark_on_pair();
  }

  /// What a model says itself of branches and inits over depth is the parametrisation's to say.
  void remark_on_pair() {
    std::map<Rational, std::vector<std::string>> stds;
    Rational branch;
    std::map<std::string, const PlacedParameter*> larger;
    for (const PlacedParameter& parameter : pair_.large.parameters)
      larger.emplace(parameter.path, &parameter);
    for (const PlacedParameter& small : pair_.small.parameters) {
      const std::size_t at = index_.find(small.path);
      if (at == no_tensor || !model_.tensors[at].repeats || !small.info.is_matrix) continue;
      const PlacedParameter& large = *larger.at(small.path);
      if (model_.tensors[at].in_branch) branch = scale_exponent(small.branch, large.branch);
      if (small.info.std == 0) continue;
      const Rational power = scale_exponent(small.info.std, large.info.std);
      std::vector<std::string>& roles = stds[power];
      if (!power.is_zero() && std::ranges::find(roles, small.info.role) == roles.end())
        roles.push_back(small.info.role);
    }
    std::string own;
    const auto add = [&](const std::string& what, const Rational& power) {
      Exponents law;
      law[axis_] = power;
      own += fmt::format("{}{} {}", own.empty() ? "" : ", ", what, law.formula());
    };
    if (!branch.is_zero()) add("branches over the skip", branch);
    for (const auto& [power, roles] : stds)
      if (!power.is_zero()) add("std of " + fmt::format("{}", fmt::join(roles, ", ")), power);
    if (!own.empty())
      model_.remarks.push_back("the model's own powers of its depth are no part of the answer (" +
                               own + "): the branch multiplier and std above stand in their place");
  }

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
  TransferModel& model_;
  TensorIndex index_;
};

TransferTensor described(const PlacedParameter& parameter, TensorKind kind,
                         const PlacedNetwork& network) {
  TransferTensor tensor;
  tensor.kind = kind;
  tensor.role = parameter.info.role;
  tensor.is_matrix = parameter.info.is_matrix;
  tensor.in_branch = parameter.in_branch;
  tensor.closes_branch = parameter.closes_branch;
  tensor.matrices = std::max(1, parameter.matrices);
  tensor.behind_stream =
      parameter.behind_stream || kind == TensorKind::output || kind == TensorKind::output_bias;
  // The table of words; positions and segments are tables of their own.
  tensor.is_tied = network.has_tied_head && parameter.path == "embedding.weight";
  return tensor;
}

/// The tensors of a model, each for all paths of one pattern and kind.
TransferModel patterns_of(const ModelSpec& spec, const Pair& in_width) {
  TransferModel model;
  const PlacedNetwork& small = in_width.small;
  model.norm = small.norm;
  model.starts_closed = small.starts_closed;
  model.has_branches = small.has_branches;
  if (small.head_width) model.head_width = Exponents();
  /// What one pattern stands for; what shares it and grows otherwise goes by its own path, as do
  /// those that map the input: of one pattern may be the first of a stack, and all others.
  using Likeness = std::tuple<TensorKind, Rational, Rational, bool>;
  std::map<std::string, Likeness> known;
  for (std::size_t i = 0; i < small.parameters.size(); ++i) {
    const PlacedParameter& parameter = small.parameters[i];
    if (is_ours_alone(spec, parameter.path)) continue;
    const ParameterInfo& more = in_width.large.parameters[i].info;
    const bool is_matrix = parameter.info.is_matrix;
    const Rational rows = is_matrix ? exponent(parameter.info.rows, more.rows) : Rational(0),
                   columns = exponent(parameter.info.columns, more.columns);
    const TensorKind kind = kind_of(parameter, rows, columns);
    const std::string pattern = path_pattern(parameter.path);
    const Likeness likeness{kind, rows, columns, parameter.in_branch};
    bool by_path = kind == TensorKind::embedding;
    if (!by_path) {
      const auto [found, is_new] = known.try_emplace(pattern, likeness);
      by_path = found->second != likeness;
      if (!is_new && !by_path) continue;
    }
    TransferTensor tensor = described(parameter, kind, small);
    tensor.name = by_path ? parameter.path : pattern;
    tensor.repeats = tensor.in_branch || tensor.name != parameter.path;
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
  return model;
}

void remark_on_decoder(TransferModel& model) {
  if (std::ranges::any_of(model.tensors, [](const TransferTensor& tensor) {
        return tensor.in_branch && !tensor.repeats && !tensor.name.starts_with("encoder.");
      }))
    model.remarks.push_back(
        "the decoder has as many layers at every depth (decoder_layers): r_L counts those of the "
        "encoder alone, and the numbers of the decoder do not know of it");
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
      result.experts *= times;
      break;
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
  const bool deepens = std::ranges::find(axes, GrowthAxis::depth) != axes.end();
  if (spec.modulation != AdaptiveNorm::none)
    throw Error(ErrorKind::input,
                "no rule of transfer covers the maps of a condition, which all blocks read",
                "modulation", "leave modulation out");
  const ModelSpec base = shallow(spec, deepens);
  const Pair in_width = laid_out(base, GrowthAxis::width);
  if (std::ranges::any_of(in_width.small.parameters, [](const PlacedParameter& parameter) {
        return parameter.info.role == "norm" && parameter.path.ends_with(".alpha");
      }))
    throw Error(ErrorKind::input,
                "no rule of transfer covers the alpha of dyt, which all features of a place share",
                "norm", "use norm = \"layernorm\" or \"rmsnorm\"");
  TransferModel model = patterns_of(base, in_width);
  if (deepens && !spec.norm_scale.is_one())
    throw Error(
        ErrorKind::input,
        "norm_scale makes branches unlike by their block, and no power of the depth has what "
        "they add up to",
        "--axes depth", "leave the axis out, for example --axes width");
  for (const GrowthAxis axis : axes) {
    if (!has_shapes(axis)) continue;
    const Pair pair = axis == GrowthAxis::width ? in_width : laid_out(base, axis);
    if (axis != GrowthAxis::depth && same_shapes(pair) &&
        pair.small.head_width == pair.large.head_width)
      throw Error(ErrorKind::input,
                  fmt::format("no shape of the model grows with its {}", to_string(axis)),
                  "--axes " + to_string(axis), "leave the axis out");
    AxisReader(axis, pair, model).run();
    if (axis == GrowthAxis::depth && spec.encoder_decoder) remark_on_decoder(model);
  }
  return model;
}

}  // namespace scalecalc
