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

}  // namespace
}  // namespace scalecalc
