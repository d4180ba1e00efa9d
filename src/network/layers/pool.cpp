#include "network/layers/kinds.hpp"

namespace scalecalc {
namespace {

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  shape = {shape.features, 1, 0, 0};
  layout.emit({Pool{place.path}}, out);
}

}  // namespace

constinit const LayerKind pool_kind = {.name = "pool", .lay_out = lay_out};

void visit_parts(const Pool&, PartVisitor&) {}

}  // namespace scalecalc
