#include "network/layers/kinds.hpp"

/// Made by modulation alone; no [[layer]] is one.
namespace scalecalc {

void visit_parts(const ConditionLayer& layer, PartVisitor& visitor) {
  visitor.list(layer.layers);
  if (layer.classes > 0) {
    ParameterInfo info;
    info.role = "embedding";
    info.rows = layer.classes;
    info.columns = layer.width;
    info.distribution = Distribution::normal;
    info.std = layer.class_std;
    visitor.parameter(layer.path, ConditionLayer::class_index, ".class", info);
  }
  visitor.list(layer.activated);
}

void visit_parts(const Modulation& layer, PartVisitor& visitor) {
  visitor.member(layer.factor);
  if (layer.shift) visitor.member(*layer.shift);
}

}  // namespace scalecalc
