#include "passes/check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "passes/checker.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::passes {
namespace {

void check_cross(const char* name, double second, double cross) {
  check_number("network", fmt::format("{}_second", name).c_str(), second, true);
  check_number("network", fmt::format("{}_cross", name).c_str(), cross, true);
  if (cross <= second) return;
  refuse("network", fmt::format("{}_cross {} exceeds {}_second {}", name, cross, name, second),
         "E[x_t x_s] is at most E[x^2]");
}

void check_sizes(const Network& network) {
  check_size("network", "sequence", network.sequence);
  check_size("network", "batch", network.batch);
  check_size("network", "features", network.features);
  check_size("network", "classes", network.classes);
  check_number("network", "zipf", network.zipf, true);
  check_number("network", "target_second", network.target_second, true);
  check_cross("input", network.input_second, network.input_cross);
  check_cross("memory", network.memory_second, network.memory_cross);
}

/// A tied head is the table that the network begins with, its first parameter.
void check_tie(const Network& network) {
  const Linear& head = std::get<Linear>(network.layers.back().op);
  if (!head.tied) return;
  const auto* words = std::get_if<Embedding>(&network.layers.front().op);
  if (words == nullptr || words->vocab != head.fan_out || words->width != head.fan_in)
    refuse(head.path, "there is no embedding of the head's shape to tie it to",
           "the first layer must be an embedding of as many words and features");
}

}  // namespace

std::string soft_cap(double c) {
  return fmt::format("{0}*tanh(x/{0})", c);
}

Checked check(const Network& network) {
  check_sizes(network);
  if (network.layers.empty() || !std::holds_alternative<Linear>(network.layers.back().op)) {
    refuse("network", "there is no head", "the last layer must be a linear one");
  }
  check_tie(network);
  Checked checked;
  if (network.logit_softcap != 0) {
    check_number("network", "logit_softcap", network.logit_softcap, false);
    checked.functions.add(soft_cap(network.logit_softcap), "logit_softcap");
  }
  const Shape logits = check_layers(network, checked);
  if (logits.width != network.classes) {
    refuse(std::get<Linear>(network.layers.back().op).path,
           fmt::format("{} logits for {} classes", logits.width, network.classes),
           "the head must be as wide as the number of classes");
  }
  checked.output_tokens = logits.tokens;
  if (network.logit_softcap != 0)
    checked.footprint.activations += static_cast<double>(network.batch) *
                                     static_cast<double>(logits.tokens) *
                                     static_cast<double>(logits.width);
  checked.footprint.layers = network.layers.size();
  checked.footprint.activations += static_cast<double>(network.batch) *
                                   static_cast<double>(network.memory_sequence) *
                                   static_cast<double>(checked.memory_width);
  return checked;
}

std::size_t group_size(std::size_t layers) {
  return static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(layers))));
}

double Footprint::entries(bool recompute) const {
  if (!recompute) return parameters + activations;
  const auto group = static_cast<double>(group_size(layers));
  return parameters + activations * (group / static_cast<double>(layers) + 1.0 / group);
}

PassWork Footprint::work(double passes, std::size_t entry_bytes, bool recompute) const {
  constexpr double additions_too = 2, with_backward = 3;
  return {passes * additions_too * (with_backward + (recompute ? 1 : 0)) * products,
          entries(recompute) * static_cast<double>(entry_bytes), entry_bytes == sizeof(float)};
}

void check_memory(const Footprint& footprint, std::size_t entry_bytes, bool recompute, double limit,
                  const std::string& device) {
  const double bytes = static_cast<double>(entry_bytes);
  const double needed = footprint.entries(recompute) * bytes;
  if (needed <= limit) return;
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const bool helps = !recompute && footprint.entries(true) * bytes <= limit;
  const double fit = std::floor(static_cast<double>(footprint.layers) * limit / needed);
  refuse("network",
         fmt::format("its passes need {:.4g} GiB and {} has {:.4g} GiB", needed / kGiB,
                     device == "cpu" ? "this machine" : device, limit / kGiB),
         fmt::format("{}about {:.0f} of its {} outermost layers fit; or use a smaller width or "
                     "fewer tokens",
                     helps ? "--recompute would do; " : "", fit, footprint.layers));
}

}  // namespace scalecalc::passes

namespace scalecalc {

PassWork pass_work(const Network& network, double passes, bool single_precision, bool recompute) {
  return passes::check(network).footprint.work(
      passes, single_precision ? sizeof(float) : sizeof(double), recompute);
}

}  // namespace scalecalc
