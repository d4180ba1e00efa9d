#include "graphs/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace scalecalc::graphs {
namespace {

/// A float tensor that the user gives, by its rank: features; samples and features; samples, tokens
/// and features; samples, features and the rows and columns of an image.
std::optional<View> input_view(const Sizes& sizes) {
  using Of = Axis::Of;
  static const std::vector<std::vector<Of>> orders = {
      {},
      {Of::feature},
      {Of::batch, Of::feature},
      {Of::batch, Of::token, Of::feature},
      {Of::batch, Of::feature, Of::token, Of::token}};
  if (sizes.empty() || sizes.size() >= orders.size()) return std::nullopt;
  View view;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t stride = sizes.size() == 4 && i == 2 ? sizes[3] : 1;
    view.dims.emplace_back();
    if (sizes[i] != 1) view.dims.back().push_back({orders[sizes.size()][i], sizes[i], stride});
  }
  return view;
}

/// What is known and does what is nearest to it, where names do not say so.
const std::map<std::string, std::string>& alike_operations() {
  static const std::map<std::string, std::string> all = {
      {"conv_transpose1d", "conv_transpose2d"},
      {"conv1d", "conv2d"},
      {"conv3d", "conv2d"},
      {"upsample_bilinear2d", "upsample_nearest2d"},
      {"pixel_shuffle", "conv2d"},
      {"group_norm", "layer_norm"},
      {"native_group_norm", "layer_norm"},
      {"cumsum", "mean"},
      {"sum", "mean"},
      {"amax", "max_pool2d"},
      {"max", "max_pool2d"},
      {"topk", "softmax"},
      {"prelu", "leaky_relu"},
      {"glu", "mul"},
      {"bilinear", "mul"},
      {"lstm", "linear"},
      {"gru", "linear"},
      {"_native_multi_head_attention", "scaled_dot_product_attention"}};
  return all;
}

}  // namespace

const std::map<std::string, Reader::Way>& Reader::ways() {
  static const std::map<std::string, Way> all = [] {
    std::map<std::string, Way> list;
    const auto add = [&](Way way, std::initializer_list<const char*> names) {
      for (const char* name : names) list[name] = way;
    };
    add(&Reader::same,
        {"to", "_to_copy", "clone", "contiguous", "detach", "alias", "type_as", "lift_fresh_copy"});
    add(&Reader::reshape, {"view", "reshape", "_unsafe_view", "unflatten", "unsqueeze"});
    add(&Reader::flatten, {"flatten"});
    add(&Reader::permute, {"permute", "transpose", "t", "swapaxes", "movedim"});
    add(&Reader::expand, {"expand"});
    add(&Reader::squeeze, {"squeeze"});
    add(&Reader::slice, {"slice", "narrow"});
    add(&Reader::select, {"select"});
    add(&Reader::split, {"split", "split_with_sizes", "chunk", "unbind", "tensor_split"});
    add(&Reader::concatenate, {"cat", "concat"});
    add(&Reader::embedding, {"embedding"});
    add(&Reader::linear, {"linear", "addmm"});
    add(&Reader::multiply_matrices, {"matmul", "mm", "bmm"});
    add(&Reader::masked_product, {"baddbmm"});
    add(&Reader::einsum, {"einsum"});
    add(&Reader::convolution, {"conv2d", "convolution", "conv_transpose2d"});
    add(&Reader::upsample, {"upsample_nearest2d"});
    add(&Reader::layer_norm, {"layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm"});
    add(&Reader::batch_norm, {"batch_norm", "_native_batch_norm_legit_no_training", "instance_norm",
                              "native_batch_norm", "_native_batch_norm_legit_functional"});
    add(&Reader::dropout, {"dropout", "native_dropout", "feature_dropout"});
    add(&Reader::pool, {"adaptive_avg_pool2d", "avg_pool2d"});
    add(&Reader::max_pool, {"max_pool2d"});
    add(&Reader::activation,
        {"relu", "gelu", "silu",       "tanh",  "sigmoid",   "softplus",    "mish",
         "elu",  "selu", "leaky_relu", "relu6", "hardswish", "hardsigmoid", "exp",
         "erf",  "sin",  "cos",        "abs",   "square",    "hardtanh",    "log_sigmoid"});
    add(&Reader::take_mean, {"mean"});
    add(&Reader::take_variance, {"var"});
    add(&Reader::arithmetic, {"add", "sub", "mul", "div", "rsub", "true_divide"});
    add(&Reader::power, {"pow"});
    add(&Reader::root, {"sqrt", "rsqrt"});
    add(&Reader::negate, {"neg"});
    add(&Reader::attention, {"scaled_dot_product_attention"});
    add(&Reader::softmax, {"softmax", "_softmax", "log_softmax", "_log_softmax"});
    add(&Reader::fill_mask, {"masked_fill", "where"});
    return list;
  }();
  return all;
}

std::vector<std::string> Reader::known_operations() {
  std::vector<std::string> names;
  for (const auto& [name, way] : ways()) names.push_back(name);
  return names;
}

Reader::Reader(const Program& program, const Constants& constants)
    : program_(program), constants_(constants), values_(program.tensors.size()) {}

PartGraph Reader::run() {
  std::size_t output = nothing;
  for (const std::size_t tensor : program_.outputs)
    if (program_.tensors[tensor].is_float && output == nothing) output = tensor;
  if (output == nothing)
    throw wrong_graph(program_, "the network gives no tensor of real numbers",
                      "export a module that returns its logits");
  read_inputs();
  find_live(output);
  for (here_ = 0; here_ < program_.nodes.size(); ++here_)
    if (is_live_[here_]) read(program_.nodes[here_]);
  if (program_.outputs.size() > 1)
    remarks_.insert(fmt::format("of {} outputs the first is described, '{}'",
                                program_.outputs.size(),
                                base::shortened(program_.tensors[output].name)));
  if (program_.nodes.empty() || values_[output].kind == Value::Kind::parameter)
    throw wrong_graph(program_, "the network computes nothing");
  if (values_[output].kind == Value::Kind::unknown) unknown(values_[output]);
  here_ = program_.nodes.size() - 1;
  if (values_[output].kind != Value::Kind::signal)
    throw wrong_graph(program_, "the network's output is none of its input's features");
  graph_.output = whole(program_.nodes.back(), values_[output]).part;
  return std::move(graph_);
}

/// What is computed for nothing, or for other outputs, need not be known.
void Reader::find_live(std::size_t output) {
  std::vector<bool> is_needed(program_.tensors.size(), false);
  is_needed[output] = true;
  is_live_.assign(program_.nodes.size(), false);
  for (std::size_t i = program_.nodes.size(); i-- > 0;) {
    const Node& node = program_.nodes[i];
    for (const std::size_t made : node.outputs) is_live_[i] = is_live_[i] || is_needed[made];
    if (!is_live_[i]) continue;
    for (const Argument& argument : node.arguments)
      for (const auto& tensor : argument.tensors)
        if (tensor) is_needed[*tensor] = true;
  }
}

/// Integers of words and constants: where a word stands.
bool Reader::is_of_places(const Node& node) const {
  bool has_words = false;
  for (const Argument& argument : node.arguments)
    for (const auto& tensor : argument.tensors) {
      if (!tensor) continue;
      const Value::Kind kind = values_[*tensor].kind;
      has_words = has_words || kind == Value::Kind::words || kind == Value::Kind::places;
      if (kind != Value::Kind::words && kind != Value::Kind::places &&
          kind != Value::Kind::constant)
        return false;
    }
  return has_words && !program_.tensors[node.outputs[0]].is_float;
}

/// One number for each sample of another input, as the time and the label of a diffusion model are.
bool Reader::is_of_sample(const Input& input) const {
  const Sizes& own = sizes(input.tensor);
  return own.size() == 1 &&
         std::any_of(program_.inputs.begin(), program_.inputs.end(), [&](const Input& other) {
           const Sizes& all = sizes(other.tensor);
           return other.kind == Input::Kind::user && all.size() > 1 && all[0] == own[0];
         });
}

void Reader::read_inputs() {
  for (const Input& input : program_.inputs) {
    Value& value = values_[input.tensor];
    const Sizes& sizes = program_.tensors[input.tensor].sizes;
    value.tensor = input.tensor;
    value.kind =
        input.kind == Input::Kind::parameter ? Value::Kind::parameter : Value::Kind::constant;
    if (input.kind != Input::Kind::user) continue;
    value.kind = Value::Kind::unknown;
    if (is_of_sample(input)) {
      value.kind = Value::Kind::numbers;
      value.input = input.tensor;
      continue;
    }
    if (!program_.tensors[input.tensor].is_float) {
      const bool is_words = sizes.size() == 1 || sizes.size() == 2;
      if (!is_words) continue;
      value.kind = Value::Kind::words;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto of = i + 1 == sizes.size() ? Axis::Of::token : Axis::Of::batch;
        value.view.dims.emplace_back();
        if (sizes[i] != 1) value.view.dims.back().push_back({of, sizes[i], 1});
      }
      continue;
    }
    const auto view = input_view(sizes);
    if (!view) continue;
    Part part;
    part.kind = Part::Kind::input;
    part.features = sizes[sizes.size() == 4 ? 1 : sizes.size() - 1];
    part.tokens = count(axes_of(*view, Axis::Of::token));
    if (sizes.size() == 4) part.height = sizes[2];
    value.kind = Value::Kind::signal;
    value.view = *view;
    value.part = graph_.parts.size();
    graph_.parts.push_back(std::move(part));
  }
  for (const Input& input : program_.inputs) {
    const Value& value = values_[input.tensor];
    if (value.kind == Value::Kind::signal || value.kind == Value::Kind::words)
      graph_.batch = std::max(graph_.batch, count(axes_of(value.view, Axis::Of::batch)));
  }
}

void Reader::read(const Node& node) {
  if (node.outputs.empty()) return;
  const bool is_constant = constants_.is_constant(node.outputs[0]);
  for (const std::size_t output : node.outputs) {
    values_[output].maker = here_;
    values_[output].tensor = output;
    if (is_constant) values_[output].kind = Value::Kind::constant;
  }
  if (is_constant) return;
  static const std::set<std::string> of_words = {"ne",  "eq",  "cumsum", "mul", "gather",
                                                 "add", "sub", "lt",     "ge"};
  if (of_words.count(node.operation) > 0 && is_of_places(node)) {
    Value& places = values_[node.outputs[0]];
    places.kind = Value::Kind::places;
    // A row of equal numbers, whichever of them are taken.
    const auto& rows = node.arguments.empty() ? std::vector<std::optional<std::size_t>>()
                                              : node.arguments[0].tensors;
    if (node.operation == "gather" && rows.size() == 1 && rows[0] &&
        values_[*rows[0]].kind == Value::Kind::constant) {
      Sizes last = sizes(*rows[0]);
      for (std::int64_t& size : last) size = std::max<std::int64_t>(0, size - 1);
      const auto first = constants_.at(*rows[0], Sizes(last.size(), 0)),
                 other = constants_.at(*rows[0], last);
      places.is_one_place = first && other && *first == *other;
    }
    return;
  }
  const auto way = ways().find(node.operation);
  // Another of the same name, of a library of its own.
  if (way == ways().end() || !node.target.starts_with("aten.")) return;
  (this->*way->second)(node);
}

void Reader::fail(const Node& node, const std::string& what, const std::string& hint) const {
  throw wrong_node(program_, node, what, hint);
}

void Reader::unknown(const Value& value, const Node* reads) const {
  if (value.maker == nothing && reads != nullptr)
    fail(*reads,
         fmt::format("it reads the input '{}', whose sizes {} are none of features, tokens or an "
                     "image",
                     base::shortened(program_.tensors[value.tensor].name),
                     to_string(sizes(value.tensor))),
         "the nearest that is known is one input of samples, with a time and a label of each");
  if (value.maker == nothing)
    throw wrong_graph(program_,
                      "the input '" + base::shortened(program_.tensors[value.tensor].name) +
                          "' has a shape that is none of features, tokens or an image",
                      "export with (samples, features), (samples, tokens, features) or an image");
  const Node& node = program_.nodes[value.maker];
  if (ways().count(node.operation) > 0 && node.target.starts_with("aten."))
    fail(node, "what this makes of the operation before it is not known");
  std::vector<std::string> near = nearest_names(node.operation, known_operations());
  if (const auto alike = alike_operations().find(node.operation); alike != alike_operations().end())
    near = {alike->second};
  fail(node, "the operation " + base::shortened(node.target) + " is not known",
       near.empty() ? "write it in operations that are known, or describe the model in a model file"
                    : "the nearest that is known is " + near.front());
}

const Value& Reader::value_of(const Node& node, std::size_t tensor) const {
  const Value& found = values_[tensor];
  if (found.kind == Value::Kind::unknown) unknown(found, &node);
  return found;
}

const Value& Reader::value(const Node& node, std::size_t argument) const {
  if (argument >= node.arguments.size() || node.arguments[argument].tensors.size() != 1 ||
      !node.arguments[argument].tensors[0])
    fail(node, fmt::format("its argument {} is no tensor", argument + 1));
  return value_of(node, *node.arguments[argument].tensors[0]);
}

const Value* Reader::optional_value(const Node& node, const char* name) const {
  const Argument* argument = node.find(name);
  if (argument == nullptr || argument->tensors.size() != 1 || !argument->tensors[0]) return nullptr;
  return &value_of(node, *argument->tensors[0]);
}

double Reader::number(const Node& node, const char* name, double otherwise) const {
  const Argument* argument = node.find(name);
  return argument == nullptr || argument->numbers.empty() ? otherwise : argument->numbers[0];
}

std::int64_t Reader::integer(const Node& node, const char* name, std::int64_t otherwise) const {
  const Argument* argument = node.find(name);
  return argument == nullptr || argument->integers.empty() ? otherwise : argument->integers[0];
}

std::size_t Reader::dimension(const Node& node, std::int64_t dim, std::size_t rank) const {
  const auto all = static_cast<std::int64_t>(rank);
  if (dim < -all || dim >= all) fail(node, fmt::format("there is no dimension {}", dim));
  return static_cast<std::size_t>(dim < 0 ? dim + all : dim);
}

Value& Reader::result(const Node& node, std::size_t output) {
  if (output >= node.outputs.size()) fail(node, "it has too few outputs");
  return values_[node.outputs[output]];
}

std::size_t Reader::add(const Node& node, Part part) {
  (void)node;
  part.node = here_;
  graph_.parts.push_back(std::move(part));
  return graph_.parts.size() - 1;
}

void Reader::become(const Node& node, std::size_t part, View view) {
  Value& out = result(node);
  if (sizes_of(view) != sizes(node.outputs[0]))
    fail(node,
         fmt::format("the graph contradicts itself: it says {} where its inputs make {}",
                     to_string(sizes(node.outputs[0])), to_string(sizes_of(view))),
         "export the module again");
  out.kind = Value::Kind::signal;
  out.part = part;
  out.view = std::move(view);
}

bool Reader::is_last(const View& view) const {
  for (std::size_t i = 0; i < view.dims.size(); ++i)
    for (const Axis& axis : view.dims[i])
      if ((axis.of == Axis::Of::feature) != (i + 1 == view.dims.size())) return false;
  return !view.dims.empty();
}

View Reader::with_features(const View& view, std::int64_t features) const {
  View out = view;
  out.feature = 0;
  out.dims.back().clear();
  if (features != 1) out.dims.back().push_back({Axis::Of::feature, features, 1});
  return out;
}

std::optional<double> Reader::scalar(const Node& node, std::size_t argument) const {
  if (argument >= node.arguments.size()) return std::nullopt;
  const Argument& given = node.arguments[argument];
  if (given.tensors.empty() && given.numbers.size() == 1) return given.numbers[0];
  if (given.tensors.size() != 1 || !given.tensors[0] || !constants_.is_constant(*given.tensors[0]))
    return std::nullopt;
  const Sizes& shape = sizes(*given.tensors[0]);
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size != 1; }))
    return std::nullopt;
  return constants_.at(*given.tensors[0], Sizes(shape.size(), 0));
}

std::size_t Reader::share(const Node& node, const Value& value, std::int64_t size,
                          std::int64_t rounds) {
  const auto key = std::tuple{value.part, value.view.feature, size, rounds};
  const auto known = shares_.find(key);
  if (known != shares_.end()) return known->second;
  const Part& all = graph_.parts[value.part];
  if (all.kind != Part::Kind::linear)
    fail(node, "it takes some of the features of what no linear map has made",
         "describe the model in a model file");
  Part part = all;
  part.features = size;
  part.rounds = rounds;
  part.first_row = all.first_row + value.view.feature;
  part.all_rows = all.all_rows != 0 ? all.all_rows : all.features;
  const std::size_t made = add(node, std::move(part));
  graph_.parts[made].node = graph_.parts[value.part].node;
  shares_.emplace(key, made);
  return made;
}

Value Reader::whole(const Node& node, const Value& given) {
  if (given.kind == Value::Kind::negated) {
    Value plain = given;
    plain.kind = Value::Kind::signal;
    Value out = whole(node, plain);
    Part part;
    part.kind = Part::Kind::function;
    part.inputs = {out.part};
    part.features = graph_.parts[out.part].features;
    part.tokens = graph_.parts[out.part].tokens;
    part.height = graph_.parts[out.part].height;
    part.function = scaled(-1);
    out.part = add(node, std::move(part));
    return out;
  }
  if (given.input != nothing)
    fail(node,
         fmt::format("it reads the input '{}', one number of each sample",
                     base::shortened(program_.tensors[given.input].name)),
         "known are rows of a table, and sines and cosines of it, one behind the other");
  if (given.kind != Value::Kind::signal)
    fail(node, "its input is none that this operation is known of");
  if (given.factor != 1) {
    Value plain = given;
    plain.factor = 1;
    Value out = whole(node, plain);
    const auto [base, inner] = base_of(out.part);
    Part part = graph_.parts[base];
    part.kind = Part::Kind::function;
    part.inputs = {base};
    part.weight = part.bias = nothing;
    part.function = composed(scaled(given.factor), inner);
    out.part = add(node, std::move(part));
    return out;
  }
  if (given.turns) fail(node, "features that are turned by positions go where no attention is");
  const std::vector<Axis> features = axes_of(given.view, Axis::Of::feature);
  if (!axes_of(given.view, Axis::Of::copy).empty())
    fail(node, "it works on copies of a tensor", "describe the model in a model file");
  const std::int64_t size = count(features);
  if (size == graph_.parts[given.part].features) return given;
  if (features.size() > 1 || (features.size() == 1 && features[0].stride != 1))
    fail(node, "it takes features that do not lie side by side",
         "describe the model in a model file");
  Value out = given;
  out.part = share(node, given, size, 1);
  out.view.feature = 0;
  return out;
}

void Reader::same(const Node& node) {
  Value copy = value(node, 0);
  Value& out = result(node);
  copy.maker = out.maker;
  out = std::move(copy);
}

}  // namespace scalecalc::graphs
