#include "network/layers/kinds.hpp"

namespace scalecalc {

void visit_parts(const ClassTokens& layer, PartVisitor& visitor) {
  ParameterInfo info;
  info.role = "embedding";
  info.rows = layer.count;
  info.columns = layer.width;
  info.distribution = Distribution::normal;
  info.std = layer.std;
  if (layer.count > 0) visitor.parameter(layer.path, ClassTokens::class_index, ".class", info);
  info.rows = layer.tokens;
  info.std = layer.position_std;
  if (layer.position_std > 0)
    visitor.parameter(layer.path, ClassTokens::position_index, ".position", info);
}

}  // namespace scalecalc
