#include <fmt/format.h>

#include <optional>
#include <utility>

#include "passes/layer_checker.hpp"

namespace scalecalc::passes {

void Checker::operator()(const ConditionLayer& layer) {
  check_size("network", "condition_features", condition_input_.width);
  if (condition_) refuse(layer.path, "the condition is there already", "a network has one");
  const Shape stream = std::exchange(at_, condition_input_);
  const bool stream_ids = std::exchange(ids_, false);
  add_activations(1);
  run(layer.layers);
  if (layer.classes > 0) {
    check_size(layer.path, "classes", layer.classes);
    check_number(layer.path, "the standard deviation of its labels", layer.class_std, true);
    if (layer.width != at_.width) mismatch(layer.path, at_.width, layer.width);
    add_parameters(layer.classes, layer.width);
    add_activations(2);
  }
  run(layer.activated);
  checked_.condition_width = condition_input_.width;
  checked_.condition_classes = layer.classes;
  condition_ = std::exchange(at_, stream);
  ids_ = stream_ids;
}

void Checker::map_of_condition(const std::string& path, const Linear& layer) {
  if (!condition_)
    refuse(path, "there is no condition that it could read", "put a condition before it");
  const Shape stream = std::exchange(at_, *condition_);
  (*this)(layer);
  const Shape made = std::exchange(at_, stream);
  if (made.width != at_.width) mismatch(layer.path, at_.width, made.width);
  add_activations(1);
}

void Checker::operator()(const Modulation& layer) {
  expect(layer.path, at_.width);
  map_of_condition(layer.path, layer.factor);
  add_activations(1);
  if (!layer.shift) return;
  map_of_condition(layer.path, *layer.shift);
  add_activations(2);
}

}  // namespace scalecalc::passes
