#include <cmath>
#include <string>
#include <vector>

#include "compare.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc::tensor {
namespace {

const char* const kModel = R"toml(
[model]
kind = "transformer"
layers = 2
width = 16
heads = 2
ffn = 24
vocab = 7
sequence = 5
batch = 2
placement = "pre"
activation = "gelu"
bias = true
norm_affine = true
norm_eps = 1e-5
dropout = 0.2
[input]
kind = "tokens"
)toml";

/// The losses of steps with a schedule and new masks, so that some numbers of the kernels change
/// from step to step, and a loss without dropout now and then.
std::vector<double> losses(const std::string& device, const std::string& optimizer, int steps) {
  Passes<double> passes(build_network(parse_model(kModel, "training")), {3, 1, device});
  OptimizerOptions options = optimizer_options(optimizer);
  options.schedule = {Schedule::Kind::cosine, 2, steps};
  Trainer<double> trainer(passes, options);
  std::vector<double> seen;
  for (int i = 0; i < steps; ++i) {
    passes.set_mask_step(static_cast<std::uint64_t>(i));
    seen.push_back(trainer.step());
    if (i % 3 == 0) seen.push_back(passes.evaluate());
  }
  return seen;
}

}  // namespace

TEST_CASE("cuda: steps of every optimizer lead where those on the CPU lead") {
  if (!cuda_is_there()) return;
  for (const std::string& optimizer : optimizer_names()) {
    CAPTURE(optimizer);
    const std::vector<double> cpu = losses("cpu", optimizer, 9),
                              cuda = losses("cuda", optimizer, 9);
    REQUIRE(cpu.size() == cuda.size());
    // Roundings grow from step to step: 1e4 of them, as passes allow, for each.
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      const double allowed = 1e5 * Pair<double>::eps * (1.0 + static_cast<double>(i));
      CHECK(std::fabs(cpu[i] - cuda[i]) <= allowed * std::fabs(cpu[i]));
    }
  }
}

}  // namespace scalecalc::tensor
