#include "calibration.hpp"
#include "random_models.hpp"
#include "support.hpp"

namespace scalecalc {
namespace {

using namespace random_models;

struct Narrow {
  std::uint64_t seed, index;
  const char* what;
};

// Models of the fuzzer, each the first that has shown what its line says.
TEST_CASE("models whose rules were off or whose bands were") {
  const std::vector<Narrow> models = {
      {1, 53, "a causal mask, then a pool: one token"},
      {1, 85, "a bias whose gradient is 0"},
      {1, 40, "a pool of tokens that add up to 0"},
      {3, 22, "dropout that leaves a token nothing once in 1e12"},
      {1, 6, "a layernorm right behind hard_sigmoid"},
      {3, 104, "a pool behind a mask, and samples alike"},
      {3, 74, "tokens of different sizes in attention"},
      {1, 60, "norms over the samples of a norm over them"},
      {1, 114, "an activation right behind an instancenorm"},
      {3, 43, "a mean that is not known well, in a sum"},
      {7, 111, "a loss of logits whose cross is not known well"},
      {1, 81, "overlaps of queries, and of their gradients"},
      {1, 133, "samples that add up to 0 below relu"},
      {3, 52, "a layernorm of heads that share one value"},
      {3, 57, "samples that are all but alike"},
      {1101, 30, "a branch scale of branches with means"},
      {1101, 74, "a norm right behind two activations"},
      {1101, 84, "overlaps of slopes and of gradients"},
      {2203, 25, "an even activation behind a layernorm"},
      {2203, 108, "a gain behind relu(x)^2"},
      {31337, 9, "a bias of normed keys, and a cross not known"},
      {2718, 39, "few words behind many norms"},
      {20261201, 34, "a gradient that is all along a norm's output"},
      {20261201, 140, "weights that read nothing but zeros"},
      {20261201, 191, "tokens of which relu and a mask leave nothing"},
      {20261201, 242, "sequences of few features"},
      {20261201, 264, "a gate behind tanhshrink"}};
  for (const Narrow& one : models) {
    CAPTURE(one.what);
    const Trial trial = try_model(random_model(one.seed, one.index), one.index, {});
    CHECK(trial.refused == "");
    CHECK(failures_of(trial.first) == "");
  }
}

}  // namespace
}  // namespace scalecalc
