#include "network/layers/kinds.hpp"

/// Made by experts = E alone; no [[layer]] is one.
namespace scalecalc {

void visit_parts(const Experts& layer, PartVisitor& visitor) {
  visitor.member(layer.router);
  for (const std::vector<Layer>& expert : layer.experts) visitor.list(expert);
}

}  // namespace scalecalc
