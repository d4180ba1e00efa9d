#include "tensor/check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <variant>

#include "scalecalc/error.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;  // ids and targets are 32-bit

[[noreturn]] void fail(const std::string& where, std::string message, std::string hint) {
  throw Error(ErrorKind::input, std::move(message), where, std::move(hint));
}

void check_size(const std::string& where, const char* name, std::int64_t value) {
  if (value >= 1 && value < kMaxSize) return;
  fail(where, fmt::format("{} is {}", name, value), fmt::format("use 1 to {}", kMaxSize - 1));
}

void check_number(const std::string& where, const char* name, double value, bool non_negative) {
  if (std::isfinite(value) && (!non_negative || value >= 0.0)) return;
  fail(where, fmt::format("{} is {}", name, value),
       non_negative ? "use a finite number of at least 0" : "use a finite number");
}

/// Follows the width of the stream through the layers.
class Checker {
 public:
  Checker(const Network& network, Footprint& footprint)
      : tokens_(static_cast<double>(network.batch) * static_cast<double>(network.sequence)),
        sequence_(static_cast<double>(network.sequence)),
        width_(network.features),
        ids_(network.input == InputKind::tokens),
        footprint_(footprint) {
    footprint_.activations = tokens_ * static_cast<double>(network.features);
  }

  void run(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers) std::visit(*this, layer.op);
  }
  std::int64_t width() const { return width_; }

  void operator()(const Linear& layer) {
    check_size(layer.path, "fan_in", layer.fan_in);
    check_size(layer.path, "fan_out", layer.fan_out);
    check_number(layer.path, "the standard deviation of its weights", layer.std, true);
    check_number(layer.path, "the standard deviation of its biases", layer.bias_std, true);
    expect(layer.path, layer.fan_in);
    add_parameters(layer.fan_in, layer.fan_out);
    if (layer.bias) add_parameters(1, layer.fan_out);
    width_ = layer.fan_out;
    add_activations(1);
  }
  void operator()(const ActivationLayer& layer) {
    expect(layer.path, width_);
    activation_kind(layer.function, layer.path);
    add_activations(1);
  }
  void operator()(const Norm& layer) {
    check_number(layer.path, "eps", layer.eps, true);
    expect(layer.path, layer.width);
    if (layer.affine) add_parameters(2, layer.width);
    add_activations(layer.affine ? 2 : 1);
  }
  void operator()(const Attention& layer) {
    check_size(layer.path, "heads", layer.heads);
    check_size(layer.path, "the width of a head", layer.head_width);
    check_number(layer.path, "the scale of the scores", layer.scale, false);
    const std::int64_t width = layer.heads * layer.head_width, in = width_;
    for (const Linear* projection : {&layer.q, &layer.k, &layer.v}) {
      width_ = in;
      (*this)(*projection);
      if (projection->fan_out != width) mismatch(projection->path, width, projection->fan_out);
    }
    footprint_.activations += tokens_ * sequence_ * static_cast<double>(layer.heads);
    add_activations(1);
    if (layer.norm) (*this)(*layer.norm);
    (*this)(layer.o);
  }
  void operator()(const Residual& layer) {
    check_number(layer.path, "skip", layer.skip, false);
    check_number(layer.path, "branch", layer.branch, false);
    expect(layer.path, width_);
    const std::int64_t in = width_;
    run(layer.body);
    if (width_ != in) {
      fail(layer.path, fmt::format("the branch turns width {} into {}", in, width_),
           "a residual branch must keep the width");
    }
    add_activations(1);
    if (layer.norm) (*this)(*layer.norm);
  }
  void operator()(const Embedding& layer) {
    check_size(layer.path, "vocab", layer.vocab);
    check_size(layer.path, "width", layer.width);
    check_number(layer.path, "the standard deviation of its entries", layer.std, true);
    if (!ids_) fail(layer.path, "an embedding of vectors", "it must be the first of token input");
    ids_ = false;
    width_ = layer.width;
    add_parameters(layer.vocab, layer.width);
    add_activations(1);
  }

 private:
  [[noreturn]] static void mismatch(const std::string& path, std::int64_t expected,
                                    std::int64_t got) {
    fail(path, fmt::format("width {} expected, got {}", expected, got),
         "neighbouring layers must agree in their widths");
  }
  void expect(const std::string& path, std::int64_t width) const {
    if (ids_) fail(path, "the input is token ids", "the first layer must be an embedding");
    if (width != width_) mismatch(path, width, width_);
  }
  void add_parameters(std::int64_t rows, std::int64_t columns) {
    footprint_.parameters += static_cast<double>(rows) * static_cast<double>(columns);
  }
  void add_activations(int copies) {
    footprint_.activations += copies * tokens_ * static_cast<double>(width_);
  }

  double tokens_, sequence_;
  std::int64_t width_;
  bool ids_;
  Footprint& footprint_;
};

}  // namespace

Footprint check(const Network& network) {
  check_size("network", "sequence", network.sequence);
  check_size("network", "batch", network.batch);
  check_size("network", "features", network.features);
  check_size("network", "classes", network.classes);
  check_number("network", "input_second", network.input_second, true);
  check_number("network", "input_cross", network.input_cross, true);
  if (network.input_cross > network.input_second) {
    fail("network",
         fmt::format("input_cross {} exceeds input_second {}", network.input_cross,
                     network.input_second),
         "E[x_t x_s] is at most E[x^2]");
  }
  if (network.layers.empty() || !std::holds_alternative<Linear>(network.layers.back().op)) {
    fail("network", "there is no head", "the last layer must be a linear one");
  }
  Footprint footprint;
  Checker checker(network, footprint);
  checker.run(network.layers);
  if (checker.width() != network.classes) {
    fail(std::get<Linear>(network.layers.back().op).path,
         fmt::format("{} logits for {} classes", checker.width(), network.classes),
         "the head must be as wide as the number of classes");
  }
  return footprint;
}

void check_memory(const Footprint& footprint, std::size_t entry_bytes) {
  const double needed =
      (footprint.parameters + footprint.activations) * static_cast<double>(entry_bytes);
  const double limit =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (needed <= limit) return;
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  fail("network",
       fmt::format("its passes need {:.4g} GiB and this machine has {:.4g} GiB", needed / kGiB,
                   limit / kGiB),
       "use fewer layers, a smaller width or fewer tokens");
}

}  // namespace scalecalc::tensor
