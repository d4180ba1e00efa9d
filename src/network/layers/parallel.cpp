#include "network/layers/kinds.hpp"

/// Made by parallel = true alone; no [[layer]] is one, where a residual with a shortcut is it.
namespace scalecalc {

void visit_parts(const Parallel& layer, PartVisitor& visitor) {
  for (const std::vector<Layer>& branch : layer.branches) visitor.list(branch);
}

}  // namespace scalecalc
