#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc {

TEST_CASE("tokens that are alike have moments under every norm, eps and placement") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 16;
  spec.heads = 2;
  spec.ffn = 32;
  spec.sequence = 4;
  spec.vocab = 8;
  for (const std::string& placement : placement_names()) {
    spec.placement = placement_from(placement);
    for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm}) {
      spec.norm = norm;
      for (const double eps : {0.0, 1e-12, 1e-8, 1e-5, 1e-3, 0.1}) {
        spec.norm_eps = eps;
        CAPTURE(placement);
        CAPTURE(eps);
        // Of placements that have an equation.
        try {
          const BlockMoments moments = block_moments(spec);
          CHECK(std::isfinite(moments.growth.to_double()));
          CHECK(std::isfinite(moments.kappa.to_double()));
          CHECK(std::isfinite(moments.rate.to_double()));
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::usage) FAIL_CHECK(error.what());
        }
      }
    }
  }
}

}  // namespace scalecalc
