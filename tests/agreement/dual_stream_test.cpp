#include "support.hpp"

namespace scalecalc {
namespace {

// Each stream's norm takes its own output out of the loss gradient, which is along their sum.
TEST_CASE("two streams share one gradient") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.width = 96;
  spec.heads = 4;
  spec.ffn = 192;
  spec.vocab = 32;
  spec.input.cross = 0.2;
  spec.placement = Placement::resi_dual;
  spec.activation = "gelu";
  spec.layers = 3;
  spec.sequence = 14;
  VerifyOptions options;
  options.seeds = 200;
  const Verification verification = verify_network(build_network(spec), options);
  std::string text;
  for (const Comparison& comparison : verification.parameters)
    if (!comparison.ok) text += describe(comparison);
  CHECK(text == "");
}

}  // namespace
}  // namespace scalecalc
