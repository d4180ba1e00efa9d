#include "graphs/repeats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "network/model_keys.hpp"

namespace scalecalc::graphs {
namespace {

constexpr std::size_t longest_period = 8;

/// A std of a layer, and by how much of the larger two of one rule may differ: by their sampling
/// errors, those of biases by more since there are few, and a tenth at least.
struct Std {
  std::optional<double>* value;
  double alike;
};

std::vector<Std> stds_of(LayerSpec& layer) {
  // Of n biases and of at least n^2/2 weights, four standard errors of a difference.
  const double n = layer.width > 0 ? static_cast<double>(layer.width) : 100;
  // A kernel of images has as many of each tap.
  const double taps = layer.groups == 1 ? static_cast<double>(layer.kernel) : 1;
  const double weights = std::max(0.1, 4 * std::sqrt(2.0) / (n * taps)),
               biases = std::max(0.1, 4 / std::sqrt(n));
  std::vector<Std> all = {{&layer.bias_std, biases}};
  for (auto* std : {&layer.std, &layer.q_std, &layer.k_std, &layer.v_std, &layer.o_std,
                    &layer.gate_std, &layer.in_std})
    all.push_back({std, weights});
  for (auto* list : {&layer.layers, &layer.shortcut})
    for (LayerSpec& inner : *list)
      for (const Std& one : stds_of(inner)) all.push_back(one);
  return all;
}

/// What is written of it but for its stds.
std::string outline(LayerSpec layer) {
  for (const Std& std : stds_of(layer))
    if (*std.value) *std.value = 1;
  return write_layer(layer, "layer");
}

bool are_copies(std::vector<LayerSpec>& layers, const std::vector<std::string>& texts,
                std::size_t a, std::size_t b, std::size_t period) {
  for (std::size_t i = 0; i < period; ++i) {
    if (texts[a + i] != texts[b + i]) return false;
    const std::vector<Std> of_a = stds_of(layers[a + i]), of_b = stds_of(layers[b + i]);
    for (std::size_t k = 0; k < of_a.size(); ++k) {
      const double first = of_a[k].value->value_or(0), second = of_b[k].value->value_or(0);
      if (std::fabs(first - second) > of_a[k].alike * std::max(first, second)) return false;
    }
  }
  return true;
}

}  // namespace

Run longest_run(const std::vector<LayerSpec>& given, std::size_t end) {
  std::vector<LayerSpec> layers = given;
  std::vector<std::string> texts;
  for (const LayerSpec& one : layers) texts.push_back(outline(one));
  Run best;
  for (std::size_t period = 1; period <= std::min(longest_period, end / 2); ++period)
    for (std::size_t first = 0; first + 2 * period <= end; ++first) {
      std::size_t times = 1;
      while (first + (times + 1) * period <= end &&
             are_copies(layers, texts, first, first + times * period, period))
        ++times;
      if (times > 1 && times * period > best.times * best.period) best = {first, period, times};
      if (times > 1) first += (times - 1) * period - 1;
    }
  return best.times > 1 ? best : Run{};
}

LayerSpec repeated(const std::vector<LayerSpec>& layers, const Run& run) {
  LayerSpec made;
  made.type = LayerSpec::Type::repeat;
  made.times = Expr::symbol("N");
  for (std::size_t k = 0; k < run.period; ++k) {
    LayerSpec inner = layers[run.first + k];
    const std::vector<Std> stds = stds_of(inner);
    std::vector<double> sums(stds.size(), 0);
    for (std::size_t time = 0; time < run.times; ++time) {
      LayerSpec copy = layers[run.first + time * run.period + k];
      const std::vector<Std> of_copy = stds_of(copy);
      for (std::size_t s = 0; s < stds.size(); ++s)
        sums[s] += std::pow(of_copy[s].value->value_or(0), 2);
    }
    for (std::size_t s = 0; s < stds.size(); ++s) {
      const double mean = std::sqrt(sums[s] / static_cast<double>(run.times));
      if (*stds[s].value)
        *stds[s].value = std::strtod(fmt::format("{:.4g}", mean).c_str(), nullptr);
    }
    made.layers.push_back(std::move(inner));
  }
  return made;
}

}  // namespace scalecalc::graphs
