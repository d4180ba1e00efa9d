#include "scalecalc/network.hpp"

namespace scalecalc {

ModelSpec default_spec(ModelSpec::Kind kind) {
  ModelSpec spec;
  spec.kind = kind;
  if (kind == ModelSpec::Kind::mlp) {
    spec.norm = NormKind::none;
    spec.placement = Placement::none;
  }
  return spec;
}

}  // namespace scalecalc
