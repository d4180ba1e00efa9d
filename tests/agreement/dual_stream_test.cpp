#include "support.hpp"

namespace scalecalc {
namespace {

// Each stream's norm takes its own output out of the loss gradient, which is along their sum.
TEST_CASE("two streams share one gradient") {
  const ModelSpec spec = small_transformer(Placement::resi_dual, NormKind::layernorm);
  VerifyOptions options;
  options.seeds = 200;
  const Verification verification = verify_network(build_network(spec), options);
  std::string text;
  for (const Comparison& comparison : verification.parameters)
    if (!comparison.ok) text += describe(comparison);
  CHECK(text == "");
}

// Either stream's norm takes its mean over the samples out of the product of both.
TEST_CASE("two streams with norms over samples") {
  for (const NormKind norm : {NormKind::batchnorm, NormKind::instancenorm}) {
    ModelSpec spec = small_transformer(Placement::resi_dual, norm);
    spec.layers = 2;
    spec.batch = 2;
    agree(to_string(norm), spec, 96);
  }
}

}  // namespace
}  // namespace scalecalc
