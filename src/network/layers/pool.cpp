#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace pool_layer {

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  shape = {shape.features, 1, 0, 0};
  layout.emit({Pool{place.path}}, out);
}

}  // namespace pool_layer

constinit const LayerKind pool_kind = {.name = "pool", .lay_out = pool_layer::lay_out};

void visit_parts(const Pool&, PartVisitor&) {}

}  // namespace scalecalc
