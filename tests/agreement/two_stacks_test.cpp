#include "scalecalc/moments.hpp"
#include "support.hpp"

namespace scalecalc {
namespace {

constexpr int seeds = 48;

ModelSpec two_stacks(Placement placement) {
  ModelSpec spec = small_transformer(placement, NormKind::layernorm);
  spec.activation = "gelu";
  spec.encoder_decoder = true;
  spec.memory = {18, 1.0, 0.1};
  return spec;
}

TEST_CASE("an encoder and its decoder") {
  for (const Placement placement :
       {Placement::pre, Placement::post, Placement::resi_dual, Placement::none}) {
    ModelSpec spec = two_stacks(placement);
    spec.causal = placement == Placement::pre;
    if (placement == Placement::none) {
      spec.norm = NormKind::none;
      spec.lambda = parse("(2*N)^(-1/2)");
    }
    spec.decoder_layers = parse("N + 1");
    agree("two stacks, " + to_string(placement), spec, seeds);
  }
}

TEST_CASE("the published pair of two stacks, and tokens") {
  ModelSpec spec = two_stacks(Placement::post);
  spec.causal = true;
  spec.layers = 5;
  spec.decoder_layers = 2;
  spec.alpha = parse("0.81*(N^4*M)^(1/16)");
  spec.lambda = parse("0.87*(N^4*M)^(-1/16)");
  spec.decoder_alpha = parse("(3*M)^(1/4)");
  spec.decoder_lambda = parse("(12*M)^(-1/4)");
  agree("published", spec, seeds);
  spec.input.kind = InputKind::tokens;
  spec.input.cross = spec.memory.cross = 0;
  for (const double zipf : {0.0, 1.0}) {
    spec.input.zipf = zipf;
    spec.causal = zipf == 0;
    agree("tokens", spec, seeds);
  }
}

}  // namespace
}  // namespace scalecalc
