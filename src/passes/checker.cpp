#include "passes/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "passes/layer_checker.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::passes {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;  // ids and targets are 32-bit

}  // namespace

void refuse(const std::string& where, std::string message, std::string hint) {
  throw Error(ErrorKind::input, std::move(message), where, std::move(hint));
}

void check_size(const std::string& where, const char* name, std::int64_t value) {
  if (value >= 1 && value < kMaxSize) return;
  refuse(where, fmt::format("{} is {}", name, value), fmt::format("use 1 to {}", kMaxSize - 1));
}

void check_number(const std::string& where, const char* name, double value, bool non_negative) {
  if (std::isfinite(value) && (!non_negative || value >= 0.0)) return;
  refuse(where, fmt::format("{} is {}", name, value),
         non_negative ? "use a finite number of at least 0" : "use a finite number");
}

void mismatch(const std::string& path, std::int64_t expected, std::int64_t got) {
  refuse(path, fmt::format("width {} expected, got {}", expected, got),
         "neighbouring layers must agree in their widths");
}

void check_multiple(const std::string& path, const char* name, std::int64_t value,
                    const char* of_name, std::int64_t of) {
  if (value % of == 0) return;
  refuse(path, fmt::format("{} {} is not a multiple of {} {}", name, value, of_name, of),
         "one must divide the other");
}

Checker::Checker(const Network& network, Checked& checked)
    : batch_(static_cast<double>(network.batch)),
      memory_input_{network.memory_sequence,
                    network.memory_features != 0 ? network.memory_features : network.features},
      condition_input_{1, network.condition_features},
      tokens_(network.input == InputKind::tokens),
      memory_ids_(tokens_ && network.memory_features == 0),
      at_{network.sequence, network.features},
      ids_(tokens_),
      checked_(checked) {
  add_activations(1);
}

void Checker::run(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) std::visit(*this, layer.op);
}

void Checker::operator()(const Linear& layer) {
  check_size(layer.path, "fan_in", layer.fan_in);
  check_size(layer.path, "fan_out", layer.fan_out);
  expect(layer.path, layer.fan_in);
  weights(layer);
  at_.width = layer.fan_out;
  add_product(layer.fan_in, layer.fan_out);
  add_activations(1);
}

void Checker::operator()(const ActivationLayer& layer) {
  expect(layer.path, at_.width);
  checked_.functions.add(layer.function, layer.path);
  add_activations(1);
}

void Checker::operator()(const Norm& layer) {
  check_number(layer.path, "eps", layer.eps, true);
  expect(layer.path, layer.width);
  check_number(layer.path, "scale", layer.scale, false);
  if (layer.kind == NormKind::dyt) {
    check_number(layer.path, "alpha", layer.alpha, false);
    checked_.functions.add("tanh", layer.path);
    add_parameters(1, 1);
    add_activations(1);
  }
  if (layer.affine) add_parameters(2, layer.width);
  add_activations((layer.affine ? 2 : 1) + (layer.scale == 1 ? 0 : 1));
}

void Checker::branch(const Residual& layer) {
  check_number(layer.path, "skip", layer.skip, false);
  check_number(layer.path, "branch", layer.branch, false);
  expect(layer.path, at_.width);
  run(layer.body);
  if (!layer.trainable_branch) return;
  if (layer.scale_features != 1 && layer.scale_features != at_.width)
    refuse(layer.path, fmt::format("{} factors of {} features", layer.scale_features, at_.width),
           "use one for all, or one for each");
  add_parameters(1, layer.scale_features);
  if (layer.scale_features > 1) add_activations(1);
}

void Checker::operator()(const Residual& layer) {
  const Shape in = at_;
  branch(layer);
  const Shape out = at_;
  at_ = in;
  run(layer.shortcut);
  if (!(at_ == out)) {
    refuse(layer.path,
           fmt::format("the branch gives {} tokens of width {}, the skip {} of width {}",
                       out.tokens, out.width, at_.tokens, at_.width),
           "a residual branch must keep the shape, or have a shortcut of its own shape");
  }
  add_activations(1);
  if (layer.norm) (*this)(*layer.norm);
}

void Checker::operator()(const DualStream& layer) {
  const Shape in = at_;
  for (const Residual& sublayer : layer.sublayers) {
    branch(sublayer);
    if (!sublayer.shortcut.empty()) {
      refuse(sublayer.path, "a shortcut in a dual stream", "both streams keep their shape");
    }
    if (!(at_ == in)) mismatch(sublayer.path, in.width, at_.width);
    add_activations(2);
    if (sublayer.norm) (*this)(*sublayer.norm);
  }
  expect(layer.path, in.width);
  (*this)(layer.norm);
  add_activations(1);
}

void Checker::operator()(const Embedding& layer) {
  check_size(layer.path, "vocab", layer.vocab);
  check_size(layer.path, "width", layer.width);
  check_number(layer.path, "the standard deviation of its entries", layer.std, true);
  check_number(layer.path, "the standard deviation of its positions", layer.position_std, true);
  if (!ids_) refuse(layer.path, "an embedding of vectors", "it must be the first of token input");
  ids_ = false;
  at_.width = layer.width;
  add_parameters(layer.vocab, layer.width);
  if (layer.positions != 0 && layer.positions != at_.tokens)
    refuse(layer.path, fmt::format("{} positions for {} tokens", layer.positions, at_.tokens),
           "each token has one");
  if (layer.segments > 0) add_parameters(layer.segments, layer.width);
  if (layer.position_std > 0.0) add_parameters(at_.tokens, layer.width);
  add_activations(1 + (layer.multiplier != 1.0) + (layer.segments > 0) +
                  (layer.position_std > 0.0));
}

void Checker::operator()(const Gated& layer) {
  checked_.functions.add(layer.function, layer.path);
  const Shape in = at_;
  (*this)(layer.gate);
  at_ = in;
  (*this)(layer.in);
  if (layer.gate.fan_out != layer.in.fan_out) {
    mismatch(layer.gate.path, layer.in.fan_out, layer.gate.fan_out);
  }
  add_activations(2);
}

void Checker::operator()(const Dropout& layer) {
  expect(layer.path, at_.width);
  rate(layer.path, layer.rate);
  add_activations(1);
}

void Checker::operator()(const Conv2d& layer) {
  conv_sizes(layer);
  expect(layer.path, layer.in_channels);
  image(layer.path, layer.height, layer.width);
  weights(layer.weight);
  if (layer.transposed) add_parameters(2 * layer.weight.fan_in, layer.weight.fan_out);
  at_ = {layer.out_height() * layer.out_width(), layer.out_channels};
  add_product(layer.weight.fan_in, layer.weight.fan_out);
  add_activations(1);
}

void Checker::image(const std::string& path, std::int64_t height, std::int64_t width) const {
  if (height * width == at_.tokens) return;
  refuse(path, fmt::format("an image of {} x {} in a sequence of {}", height, width, at_.tokens),
         "tokens are the positions of one image");
}

void Checker::operator()(const MaxPool& layer) {
  check_size(layer.path, "kernel", layer.kernel);
  check_size(layer.path, "stride", layer.stride);
  check_size(layer.path, "height", layer.height);
  check_size(layer.path, "width", layer.width);
  expect(layer.path, layer.channels);
  image(layer.path, layer.height, layer.width);
  if (layer.padding < 0 || 2 * layer.padding > layer.kernel)
    refuse(layer.path,
           fmt::format("a padding of {} of a kernel of {}", layer.padding, layer.kernel),
           "at most half of the kernel, so that every window has a place in the image");
  if (layer.kernel > std::min(layer.height, layer.width) + 2 * layer.padding)
    refuse(layer.path, fmt::format("a kernel of {} is larger than the image", layer.kernel),
           "use a smaller kernel");
  at_ = {layer.out_height() * layer.out_width(), layer.channels};
  add_activations(1);
}

void Checker::operator()(const Upsample& layer) {
  check_size(layer.path, "factor", layer.factor);
  check_size(layer.path, "height", layer.height);
  check_size(layer.path, "width", layer.width);
  expect(layer.path, layer.channels);
  image(layer.path, layer.height, layer.width);
  at_ = {layer.out_height() * layer.out_width(), layer.channels};
  add_activations(1);
}

void Checker::operator()(const Concat& layer) {
  expect(layer.path, layer.stream);
  const Shape in = at_;
  run(layer.body);
  if (at_.tokens != in.tokens)
    refuse(layer.path, fmt::format("{} tokens beside {}", at_.tokens, in.tokens),
           "what is concatenated has the tokens of the stream");
  expect(layer.path, layer.branch);
  at_.width += in.width;
  add_activations(1);
}

void Checker::conv_sizes(const Conv2d& layer) const {
  check_size(layer.path, "in_channels", layer.in_channels);
  check_size(layer.path, "out_channels", layer.out_channels);
  check_size(layer.path, "kernel", layer.kernel);
  check_size(layer.path, "stride", layer.stride);
  check_size(layer.path, "groups", layer.groups);
  check_size(layer.path, "height", layer.height);
  check_size(layer.path, "width", layer.width);
  if (layer.padding != 0) check_size(layer.path, "padding", layer.padding);
  check_multiple(layer.path, "in_channels", layer.in_channels, "groups", layer.groups);
  check_multiple(layer.path, "out_channels", layer.out_channels, "groups", layer.groups);
  const std::int64_t side = layer.one_row ? layer.width : std::min(layer.height, layer.width);
  const std::int64_t image = side + 2 * layer.padding;
  if (layer.transposed) {
    if (layer.output_padding < 0 || layer.output_padding >= layer.stride)
      refuse(layer.path, fmt::format("an output padding of {}", layer.output_padding),
             "at least 0, and less than the stride");
    if (std::min(layer.out_height(), layer.out_width()) < 1)
      refuse(layer.path, fmt::format("a padding of {}", layer.padding), "nothing is left of it");
  } else if (layer.kernel > image) {
    refuse(layer.path, fmt::format("a kernel of {} on an image of {}", layer.kernel, image),
           "use a smaller kernel or more padding");
  }
  const double along = static_cast<double>(layer.kernel),
               taps = layer.one_row ? along : along * along;
  const double fan_in = taps * static_cast<double>(layer.in_channels / layer.groups);
  if (static_cast<double>(layer.weight.fan_in) != fan_in) {
    refuse(layer.path, fmt::format("fan_in is {}", layer.weight.fan_in),
           fmt::format("{} in_channels/groups is {:.0f}", layer.one_row ? "kernel" : "kernel^2",
                       fan_in));
  }
  if (layer.weight.fan_out != layer.out_channels) {
    mismatch(layer.path, layer.out_channels, layer.weight.fan_out);
  }
}

void Checker::operator()(const Pool& layer) {
  expect(layer.path, at_.width);
  const bool some = layer.of != Pool::Of::all;
  if (layer.of == Pool::Of::last && layer.class_tokens != 0)
    refuse(layer.path, fmt::format("{} class tokens", layer.class_tokens),
           "the last token is read of a sequence without class tokens");
  if (some && layer.of != Pool::Of::last &&
      (layer.class_tokens < (layer.of == Pool::Of::first ? 1 : 0) ||
       layer.class_tokens >= at_.tokens))
    refuse(layer.path, fmt::format("{} class tokens of {}", layer.class_tokens, at_.tokens),
           "there must be other tokens, and for the first of them one");
  at_.tokens = 1;
  add_activations(some ? 2 : 1);
}

void Checker::operator()(const ClassTokens& layer) {
  check_number(layer.path, "the standard deviation of class tokens", layer.std, true);
  check_number(layer.path, "the standard deviation of its positions", layer.position_std, true);
  if (layer.count != 0) check_size(layer.path, "the number of class tokens", layer.count);
  expect(layer.path, layer.width);
  if (layer.tokens != at_.tokens + layer.count)
    refuse(layer.path,
           fmt::format("{} tokens behind {} class tokens and {} others", layer.tokens, layer.count,
                       at_.tokens),
           "these must add up");
  at_.tokens = layer.tokens;
  if (layer.count > 0) add_parameters(layer.count, layer.width);
  if (layer.sinusoids && (layer.width < 2 || layer.width % 2 != 0))
    refuse(layer.path, fmt::format("sinusoids of {} features", layer.width),
           "they are pairs of a sine and a cosine");
  if (layer.columns < 0 ||
      (layer.columns > 0 && (layer.width % 4 != 0 || layer.tokens % layer.columns != 0)))
    refuse(layer.path,
           fmt::format("{} tokens of {} features in rows of {}", layer.tokens, layer.width,
                       layer.columns),
           "rows are full, and features four parts");
  const bool has_table = layer.position_std > 0.0 || layer.sinusoids;
  if (has_table) add_parameters(layer.tokens, layer.width);
  add_activations(2 * (layer.count > 0) + has_table);
}

void Checker::operator()(const Parallel& layer) {
  if (layer.branches.empty()) refuse(layer.path, "no branches", "one is enough");
  const Shape in = at_;
  std::optional<Shape> first;
  for (const std::vector<Layer>& branch : layer.branches) {
    at_ = in;
    run(branch);
    if (!first) first = at_;
    if (!(at_ == *first))
      refuse(layer.path,
             fmt::format("one branch gives {} tokens of width {}, another {} of width {}",
                         first->tokens, first->width, at_.tokens, at_.width),
             "branches that are added must have one shape");
    add_activations(1);
  }
}

void Checker::operator()(const Experts& layer) {
  const auto experts = static_cast<std::int64_t>(layer.experts.size());
  check_size(layer.path, "experts", experts);
  if (layer.top_k < 1 || layer.top_k > experts)
    refuse(layer.path, fmt::format("{} experts of {} for a token", layer.top_k, experts),
           "use 1 at least, and no more than there are");
  if (layer.router.fan_out != experts) mismatch(layer.router.path, experts, layer.router.fan_out);
  const Shape in = at_;
  (*this)(layer.router);
  add_activations(2);
  std::optional<Shape> first;
  for (const std::vector<Layer>& expert : layer.experts) {
    at_ = in;
    run(expert);
    if (!first) first = at_;
    if (!(at_ == *first) || at_.tokens != in.tokens)
      refuse(layer.path, "experts of several shapes",
             "experts keep the tokens, and are as wide as each other");
    add_activations(2);
  }
}

void Checker::operator()(const Encoder& layer) {
  check_size("network", "memory_sequence", memory_input_.tokens);
  if (memory_ || checked_.memory_width != 0)
    refuse(layer.path, "the memory is there already", "put one encoder before what reads it");
  const Shape stream = std::exchange(at_, memory_input_);
  const bool stream_ids = std::exchange(ids_, memory_ids_);
  const auto scores = std::exchange(scores_, std::nullopt);
  add_activations(1);
  run(layer.layers);
  if (checked_.memory_width != 0)
    refuse(layer.path, "a layer inside it attends to the memory it makes",
           "let the encoder attend to itself");
  memory_ = std::exchange(at_, stream);
  if (std::exchange(ids_, stream_ids))
    refuse(layer.path, "the input is token ids", "its first layer must be an embedding");
  scores_ = scores;
  const auto* embedding = memory_ids_ ? std::get_if<Embedding>(&layer.layers.front().op) : nullptr;
  if (embedding != nullptr)
    checked_.memory_vocab = embedding->vocab;
  else
    checked_.memory_width = memory_input_.width;
}

void Checker::expect(const std::string& path, std::int64_t width) const {
  if (ids_) refuse(path, "the input is token ids", "the first layer must be an embedding");
  if (width != at_.width) mismatch(path, at_.width, width);
}

void Checker::weights(const Linear& layer) {
  check_number(layer.path, "the standard deviation of its weights", layer.std, true);
  check_number(layer.path, "the standard deviation of its biases", layer.bias_std, true);
  check_number(layer.path, "its multiplier", layer.multiplier, false);
  if (!layer.tied) add_parameters(layer.fan_in, layer.fan_out);
  if (layer.multiplier != 1.0) add_parameters(layer.fan_in, layer.fan_out);
  if (layer.weight_norm != WeightNorm::none) add_parameters(2 * layer.fan_in, layer.fan_out);
  if (layer.bias) add_parameters(1, layer.fan_out);
}

void Checker::rate(const std::string& path, double value) const {
  if (value >= 0.0 && value < 1.0) return;
  refuse(path, fmt::format("the dropout rate is {}", value), "use at least 0 and less than 1");
}

void Checker::add_parameters(std::int64_t rows, std::int64_t columns) {
  checked_.footprint.parameters += static_cast<double>(rows) * static_cast<double>(columns);
}

/// Of each token of the stream with a matrix.
void Checker::add_product(std::int64_t rows, std::int64_t columns) {
  checked_.footprint.products += batch_ * static_cast<double>(at_.tokens) *
                                 static_cast<double>(rows) * static_cast<double>(columns);
}

void Checker::add_activations(int copies) {
  checked_.footprint.activations +=
      copies * batch_ * static_cast<double>(at_.tokens) * static_cast<double>(at_.width);
}

Shape check_layers(const Network& network, Checked& checked) {
  Checker checker(network, checked);
  checker.run(network.layers);
  return checker.shape();
}

}  // namespace scalecalc::passes
