#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graphs/reader.hpp"

/// Operations that are layers by themselves.
namespace scalecalc::graphs {
namespace {

/// Of a function of torch with its arguments left at their defaults.
struct Known {
  const char* name;  ///< of the registry
  const char* text;  ///< in the formula language
  double (*value)(double);
};

const std::map<std::string, Known>& known_functions() {
  static const std::map<std::string, Known> all = {
      {"relu", {"relu", "relu(x)", [](double x) { return std::max(x, 0.0); }}},
      {"gelu",
       {"gelu", "gelu(x)", [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }}},
      {"silu", {"silu", "silu(x)", [](double x) { return x / (1 + std::exp(-x)); }}},
      {"tanh", {"tanh", "tanh(x)", [](double x) { return std::tanh(x); }}},
      {"sigmoid", {"sigmoid", "sigmoid(x)", [](double x) { return 1 / (1 + std::exp(-x)); }}},
      {"softplus", {"softplus", "softplus(x)", [](double x) { return std::log1p(std::exp(x)); }}},
      {"mish",
       {"mish", "mish(x)", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }}},
      {"elu", {"elu", "elu(x)", [](double x) { return x > 0 ? x : std::expm1(x); }}},
      {"selu",
       {"selu", "selu(x)",
        [](double x) {
          return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
        }}},
      {"leaky_relu",
       {"leaky_relu", "leaky_relu(x)", [](double x) { return x > 0 ? x : 0.01 * x; }}},
      {"relu6", {"relu6", "relu6(x)", [](double x) { return std::clamp(x, 0.0, 6.0); }}},
      {"hardswish",
       {"hard_swish", "hard_swish(x)",
        [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }}},
      {"hardsigmoid",
       {"hard_sigmoid", "hard_sigmoid(x)",
        [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }}},
      {"hardtanh",
       {"hard_tanh", "hard_tanh(x)", [](double x) { return std::clamp(x, -1.0, 1.0); }}},
      {"log_sigmoid",
       {"log_sigmoid", "log_sigmoid(x)", [](double x) { return -std::log1p(std::exp(-x)); }}},
      {"exp", {"exp", "exp(x)", [](double x) { return std::exp(x); }}},
      {"erf", {"erf", "erf(x)", [](double x) { return std::erf(x); }}},
      {"sin", {"sin", "sin(x)", [](double x) { return std::sin(x); }}},
      {"cos", {"cos", "cos(x)", [](double x) { return std::cos(x); }}},
      {"abs", {"abs", "abs(x)", [](double x) { return std::fabs(x); }}},
      {"square", {"square", "x^2", [](double x) { return x * x; }}}};
  return all;
}

std::int64_t product(const Sizes& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all *= size;
  return all;
}

}  // namespace

void Reader::embedding(const Node& node) {
  const Value& weight = value(node, 0);
  const Value& words = value(node, 1);
  const Sizes& shape = sizes(*node.arguments[0].tensors[0]);
  if (weight.kind != Value::Kind::parameter || shape.size() != 2)
    fail(node, "it looks rows up in what is no table of parameters");
  if (words.kind == Value::Kind::places) {
    Value& out = result(node);
    out.kind = Value::Kind::table;
    out.tables = {{weight.tensor, true, words.is_one_place, nothing}};
    return;
  }
  if (words.kind == Value::Kind::constant) {
    Table table{weight.tensor, true, false, words.tensor};
    const Sizes& places = sizes(words.tensor);
    const std::int64_t tokens = places.empty() ? 1 : places.back();
    Sizes last(places.size(), 0);
    if (!last.empty()) last.back() = tokens - 1;
    const auto first_row = constants_.at(words.tensor, Sizes(places.size(), 0)),
               last_row = constants_.at(words.tensor, last);
    table.is_segment = tokens > 1 && first_row && last_row && *first_row == *last_row;
    Value& out = result(node);
    out.kind = Value::Kind::table;
    out.tables = {table};
    return;
  }
  if (words.kind == Value::Kind::numbers) return look_up(node, weight, words);
  if (words.kind != Value::Kind::words) fail(node, "it looks up what is no input of words");
  Part part;
  part.kind = Part::Kind::embedding;
  part.weight = weight.tensor;
  part.features = shape[1];
  part.tokens = count(axes_of(words.view, Axis::Of::token));
  View view = words.view;
  view.dims.emplace_back();
  if (shape[1] != 1) view.dims.back().push_back({Axis::Of::feature, shape[1], 1});
  become(node, add(node, std::move(part)), std::move(view));
}

void Reader::linear(const Node& node) {
  if (node.operation == "addmm") {
    if (number(node, "alpha", 1) != 1 || number(node, "beta", 1) != 1)
      fail(node, "it has factors alpha and beta");
    const Value bias = value(node, 0);
    const Value &input = value(node, 1), &weight = value(node, 2);
    return linear_of(node, input, weight, &bias, true);
  }
  linear_of(node, value(node, 0), value(node, 1), optional_value(node, "bias"), false);
}

void Reader::multiply_matrices(const Node& node) {
  const Value a = value(node, 0), b = value(node, 1);
  if (b.kind == Value::Kind::parameter) return linear_of(node, a, b, nullptr, true);
  if (a.kind == Value::Kind::scores) return mix(node, a, b);
  if (a.kind == Value::Kind::signal && b.kind == Value::Kind::signal) return scores_of(node, a, b);
  fail(node, "two tensors that hang on the input are multiplied, as no attention does");
}

/// `is_in_out`: the operation multiplies by the matrix as it is, not by its transpose.
void Reader::linear_of(const Node& node, const Value& given, const Value& weight, const Value* bias,
                       bool is_in_out) {
  if (weight.kind != Value::Kind::parameter) fail(node, "its matrix is no parameter of the model");
  Sizes shape = sizes(weight.tensor);
  if (shape.size() != 2) fail(node, "its matrix has not two dimensions");
  const std::int64_t all_rows = shape[0];
  if (weight.rows > 0) shape[0] = weight.rows;
  const bool stored_in_out = is_in_out != weight.is_flipped;
  const std::int64_t in = shape[stored_in_out ? 0 : 1], out = shape[stored_in_out ? 1 : 0];
  Value input = whole(node, given);
  const Part before = graph_.parts[input.part];
  Part part;
  part.kind = Part::Kind::linear;
  const bool has_tokens_inside =
      !input.view.dims.empty() && !is_last(input.view) &&
      std::any_of(input.view.dims.back().begin(), input.view.dims.back().end(),
                  [](const Axis& axis) { return axis.of == Axis::Of::token; });
  if (has_tokens_inside && count(input.view.dims.back()) == before.features * before.tokens) {
    // All tokens of a sample at once: features of the input itself, or a convolution as large as
    // the image.
    if (before.kind == Part::Kind::input) {
      graph_.parts[input.part].features *= before.tokens;
      graph_.parts[input.part].tokens = 1;
      graph_.parts[input.part].height = 0;
    } else if (before.height > 0 && before.height * before.height == before.tokens) {
      part.kind = Part::Kind::convolution;
      part.kernel = before.height;
      part.height = 1;
    } else {
      fail(node, "it maps all tokens of a sample at once", "take their mean, or convolutions");
    }
    input.view = with_features(input.view, in);
  }
  if (!is_last(input.view) || count(input.view.dims.back()) != in)
    fail(node,
         fmt::format("it maps {} numbers that are not the {} features of its input", in,
                     before.features),
         "maps over tokens are not known");
  part.inputs = {input.part};
  part.weight = weight.tensor;
  part.is_in_out = stored_in_out;
  part.features = out;
  if (weight.rows > 0) {
    if (stored_in_out) fail(node, "it multiplies by some rows of a matrix");
    part.first_row = weight.first_row;
    part.all_rows = all_rows;
  }
  part.tokens = part.kind == Part::Kind::linear ? graph_.parts[input.part].tokens : 1;
  if (part.kind == Part::Kind::linear && before.height > 0)
    part.height = graph_.parts[input.part].height;
  if (bias != nullptr) {
    const bool is_share =
        bias->first_row == weight.first_row && bias->rows == weight.rows && weight.rows > 0;
    if (bias->kind != Value::Kind::parameter ||
        (!is_share && (bias->rows > 0 || product(sizes(bias->tensor)) != out)))
      fail(node, "its bias is no parameter of the model, or has another size");
    part.bias = bias->tensor;
  }
  View view = with_features(input.view, out);
  become(node, add(node, std::move(part)), std::move(view));
}

void Reader::layer_norm(const Node& node) {
  Value input = value(node, 0);
  const bool is_rms = node.operation == "rms_norm" || node.operation == "_fused_rms_norm";
  Part part;
  part.kind = Part::Kind::norm;
  part.norm = is_rms ? Part::Norm::rms : Part::Norm::layer;
  const Argument* shape = node.find("normalized_shape");
  if (shape == nullptr || shape->integers.size() != 1)
    fail(node, "it normalises more than one dimension");
  if (input.view.dims.empty()) fail(node, "it normalises a single number");
  const bool is_share = input.view.dims.size() > 1 && !is_last(input.view);
  if (!is_share) input = whole(node, input);
  if (input.kind != Value::Kind::signal) fail(node, "it normalises what is no signal");
  part.is_of_heads = is_share;
  part.eps = number(node, "eps", is_rms ? 1.1920928955078125e-07 : 1e-5);
  if (const Value* weight = optional_value(node, "weight")) part.weight = weight->tensor;
  if (const Value* bias = optional_value(node, "bias")) part.bias = bias->tensor;
  if (is_share) {  // of each head
    const std::vector<Axis>& last = input.view.dims.back();
    if (last.size() != 1 || last[0].of != Axis::Of::feature)
      fail(node, "it normalises what are no features");
    input = projection(node, input);
  } else if (count(input.view.dims.back()) != shape->integers[0]) {
    fail(node, "the graph contradicts itself: it normalises other features");
  }
  part.inputs = {input.part};
  part.features = graph_.parts[input.part].features;
  part.tokens = graph_.parts[input.part].tokens;
  part.height = graph_.parts[input.part].height;
  become(node, add(node, std::move(part)), input.view);
}

void Reader::batch_norm(const Node& node) {
  const Value input = whole(node, value(node, 0));
  Part part;
  part.kind = Part::Kind::norm;
  part.norm = node.operation == "instance_norm" ? Part::Norm::instance : Part::Norm::batch;
  part.inputs = {input.part};
  part.features = graph_.parts[input.part].features;
  part.tokens = graph_.parts[input.part].tokens;
  part.height = graph_.parts[input.part].height;
  part.eps = number(node, "eps", 1e-5);
  if (const Value* weight = optional_value(node, "weight")) part.weight = weight->tensor;
  if (const Value* bias = optional_value(node, "bias")) part.bias = bias->tensor;
  const Argument* training = node.find("training");
  if (part.norm == Part::Norm::batch && !(training != nullptr && training->flag == true))
    remarks_.insert(
        "batch norms are those of training, by the batch's own mean and variance: the graph was "
        "exported in eval mode, where they divide by averages that are 1 at first");
  become(node, add(node, std::move(part)), input.view);
}

void Reader::dropout(const Node& node) {
  const Argument* trains = node.find("train");
  const double rate = number(node, "p", 0);
  if (rate > 0 && !(trains != nullptr && trains->flag == true))
    remarks_.insert(
        fmt::format("dropout of {} is left out: the graph was exported in eval mode", rate));
  if (rate == 0 || !(trains != nullptr && trains->flag == true)) return same(node);
  if (value(node, 0).kind == Value::Kind::scores) {
    remarks_.insert(fmt::format("dropout {} of attention weights is left out", rate));
    return same(node);
  }
  const Value input = whole(node, value(node, 0));
  Part part;
  part.kind = Part::Kind::dropout;
  part.rate = rate;
  part.inputs = {input.part};
  part.features = graph_.parts[input.part].features;
  part.tokens = graph_.parts[input.part].tokens;
  part.height = graph_.parts[input.part].height;
  become(node, add(node, std::move(part)), input.view);
}

void Reader::activation(const Node& node) {
  const Value& input = value(node, 0);
  if (input.kind == Value::Kind::scores) return cap_scores(node, input);
  if (input.kind == Value::Kind::angles) return wave(node, input);
  const auto known = known_functions().find(node.operation);
  if (known == known_functions().end()) fail(node, "this function is not known");
  Function function{known->second.name, known->second.text, known->second.value, {}};
  if (node.operation == "gelu" && node.find("approximate") != nullptr &&
      node.find("approximate")->text == "tanh")
    function = {"gelu_tanh",
                "gelu_tanh(x)",
                [](double x) {
                  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
                },
                {}};
  const double slope = number(node, "negative_slope", 0.01);
  if (node.operation == "leaky_relu" && slope != 0.01)
    function = {"",
                fmt::format("max(x, 0) + {}*min(x, 0)", slope),
                [slope](double x) { return x > 0 ? x : slope * x; },
                {}};
  apply(node, whole(node, input), function);
}

void Reader::take_mean(const Node& node) {
  const Value& given = value(node, 0);
  const Argument* dims = node.find("dim");
  if (given.kind != Value::Kind::signal || dims == nullptr || dims->integers.empty())
    fail(node, "it takes the mean of all numbers");
  const std::size_t rank = given.view.dims.size();
  std::vector<bool> goes(rank, false);
  bool of_features = true, of_tokens = true;
  for (const std::int64_t dim : dims->integers) {
    const std::size_t at = dimension(node, dim, rank);
    goes[at] = true;
    for (const Axis& axis : given.view.dims[at]) {
      of_features = of_features && axis.of == Axis::Of::feature;
      of_tokens = of_tokens && axis.of == Axis::Of::token;
    }
  }
  const Argument* keeps = node.find("keepdim");
  const bool stays = keeps != nullptr && keeps->flag == true;
  if (of_tokens) {
    const Value input = whole(node, given);
    Part part;
    part.kind = Part::Kind::pool;
    part.inputs = {input.part};
    part.features = graph_.parts[input.part].features;
    View view{{}, 0, 0};
    std::int64_t tokens = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      if (goes[i]) tokens *= count(input.view.dims[i]);
      if (!goes[i]) view.dims.push_back(input.view.dims[i]);
      if (goes[i] && stays) view.dims.emplace_back();
    }
    if (tokens != graph_.parts[input.part].tokens) fail(node, "it takes the mean of some tokens");
    if (tokens == 1) return become(node, input.part, std::move(view));
    return become(node, add(node, std::move(part)), std::move(view));
  }
  if (!of_features || !goes[rank - 1]) fail(node, "it takes the mean of features and tokens");
  Statistic statistic;
  const std::size_t square_of = graph_.parts[given.part].square_of;
  statistic.is_mean = square_of == nothing;
  statistic.part = statistic.is_mean ? given.part : square_of;
  statistic.is_of_heads = !is_last(given.view);
  if (!statistic.is_mean && graph_.parts[square_of].kind == Part::Kind::centred) {
    statistic.part = graph_.parts[square_of].inputs[0];
    statistic.is_centred = true;
  }
  Value& out = result(node);
  out.kind = Value::Kind::statistic;
  out.statistic = statistic;
}

void Reader::take_variance(const Node& node) {
  const Value& given = value(node, 0);
  const Argument *dims = node.find("dim"), *unbiased = node.find("unbiased");
  const bool is_last_dim =
      given.kind == Value::Kind::signal && dims != nullptr && dims->integers.size() == 1 &&
      dimension(node, dims->integers[0], given.view.dims.size()) + 1 == given.view.dims.size();
  if (!is_last_dim) fail(node, "it takes the variance of what are no features");
  if (number(node, "correction", 1) != 0 && !(unbiased != nullptr && unbiased->flag == false))
    remarks_.insert("variances divided by n - 1 are taken as divided by n");
  Value& out = result(node);
  out.kind = Value::Kind::statistic;
  out.statistic.part = given.part;
  out.statistic.is_centred = true;
  out.statistic.is_of_heads = !is_last(given.view);
}

}  // namespace scalecalc::graphs
