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

std::vector<std::optional<double>*> stds_of(LayerSpec& layer) {
  std::vector<std::optional<double>*> all = {&layer.std,    &layer.q_std,   &layer.k_std,
                                             &layer.v_std,  &layer.o_std,   &layer.gate_std,
                                             &layer.in_std, &layer.bias_std};
  for (auto* list : {&layer.layers, &layer.shortcut})
    for (LayerSpec& inner : *list)
      for (auto* one : stds_of(inner)) all.push_back(one);
  return all;
}

/// What is written of it but for its stds, which copies share where they are nearly equal.
std::string outline(LayerSpec layer) {
  for (auto* std : stds_of(layer))
    if (*std) *std = 1;
  return write_layer(layer, "layer");
}

/// Stds that are drawn by one rule differ by their sampling errors, those of biases by more since
/// there are few; of a trained model by more still.
constexpr double alike = 0.1, alike_biases = 0.4;

bool are_copies(std::vector<LayerSpec>& layers, const std::vector<std::string>& texts,
                std::size_t a, std::size_t b, std::size_t period) {
  for (std::size_t i = 0; i < period; ++i) {
    if (texts[a + i] != texts[b + i]) return false;
    const auto of_a = stds_of(layers[a + i]), of_b = stds_of(layers[b + i]);
    for (std::size_t k = 0; k < of_a.size(); ++k) {
      if (of_a[k]->has_value() != of_b[k]->has_value()) return false;
      // stds_of() has a layer's biases last.
      const double allowed = k % 8 == 7 ? alike_biases : alike;
      if (*of_a[k] && std::fabs(**of_a[k] - **of_b[k]) > allowed * std::max(**of_a[k], **of_b[k]))
        return false;
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
    const auto stds = stds_of(inner);
    std::vector<double> sums(stds.size(), 0);
    for (std::size_t time = 0; time < run.times; ++time) {
      LayerSpec copy = layers[run.first + time * run.period + k];
      const auto of_copy = stds_of(copy);
      for (std::size_t s = 0; s < stds.size(); ++s)
        sums[s] += of_copy[s]->value_or(0) * of_copy[s]->value_or(0);
    }
    for (std::size_t s = 0; s < stds.size(); ++s) {
      const double mean = std::sqrt(sums[s] / static_cast<double>(run.times));
      if (*stds[s]) *stds[s] = std::strtod(fmt::format("{:.4g}", mean).c_str(), nullptr);
    }
    made.layers.push_back(std::move(inner));
  }
  return made;
}

}  // namespace scalecalc::graphs
