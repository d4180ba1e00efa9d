#include "network/layers/kinds.hpp"

/// Made by placement resi-dual alone; no [[layer]] is one.
namespace scalecalc {

void visit_parts(const DualStream& layer, PartVisitor& visitor) {
  visitor.list(layer.sublayers);
  visitor.member(layer.norm);
}

}  // namespace scalecalc
