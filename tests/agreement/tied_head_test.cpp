#include "scalecalc/moments.hpp"
#include "support.hpp"

namespace scalecalc {
namespace {

ModelSpec tied(Placement placement, NormKind norm, std::int64_t vocab, double second) {
  ModelSpec spec = small_transformer(placement, norm);
  spec.layers = 2;
  spec.width = 48;
  spec.ffn = 96;
  spec.vocab = vocab;
  spec.input = {};
  spec.input.kind = InputKind::tokens;
  spec.input.second = second;
  spec.tie_head = spec.norm_affine = true;
  return spec;
}

std::string failures(const ModelSpec& spec) {
  VerifyOptions options;
  options.seeds = 24;
  const Verification found = verify_network(build_network(spec), options);
  return found.passed ? std::string() : failures_of(found) + model_text(spec);
}

}  // namespace

TEST_CASE("a tied head: the token's own word stands out, forward and backward") {
  for (const double second : {0.0004, 0.02, 0.3})
    for (const std::int64_t vocab : {24, 200}) {
      ModelSpec spec = tied(Placement::pre, NormKind::layernorm, vocab, second);
      CHECK(failures(spec) == "");
      spec.norm = NormKind::rmsnorm;
      spec.causal = true;
      spec.input.norm = true;
      spec.input.positions = second;
      spec.input.zipf = 1;
      spec.batch = 2;
      CHECK(failures(spec) == "");
    }
}

TEST_CASE("a tied head behind a post-norm stack, a transform, a gain and a squared error") {
  CHECK(failures(tied(Placement::post, NormKind::layernorm, 32, 0.02)) == "");
  ModelSpec spec = tied(Placement::pre, NormKind::layernorm, 32, 0.1);
  spec.init.gain["head"] = parse("1/3");
  spec.input.multiplier = 2;
  CHECK(failures(spec) == "");
  spec.loss = Loss::mse;
  CHECK(failures(spec) == "");
  spec = tied(Placement::post, NormKind::layernorm, 32, 0.02);
  spec.bias = spec.head_bias = spec.head_transform = true;
  spec.init.bias_variance = 0.05;
  CHECK(failures(spec) == "");
}

TEST_CASE("a tied head has no rule behind two streams or norms over samples") {
  for (const auto& [placement, norm] : {std::pair{Placement::resi_dual, NormKind::layernorm},
                                        {Placement::pre, NormKind::batchnorm}})
    CHECK_THROWS_WITH_AS(propagate(build_network(tied(placement, norm, 24, 0.02))),
                         doctest::Contains("tied head"), Error);
}

}  // namespace scalecalc
