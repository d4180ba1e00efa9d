#include "graphs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc {
namespace {

const char* const kModel = R"toml(
[model]
kind = "transformer"
layers = 1
width = 16
heads = 2
ffn = 24
vocab = 7
sequence = 5
batch = 2
placement = "pre"
activation = "mish"
dropout = 0.2
[input]
kind = "tokens"
)toml";

Network network() {
  return build_network(parse_model(kModel, "test"));
}

/// Everything that a training run on `device` shows: losses, then the entries of all parameters.
template <class Real>
std::vector<double> trained(const std::string& device, const std::string& optimizer, int steps,
                            std::string* remark = nullptr) {
  PassOptions options{3, 1, device};
  Passes<Real> passes(network(), options);
  OptimizerOptions how = optimizer_options(optimizer);
  how.schedule = {Schedule::Kind::cosine, 2, steps};
  Trainer<Real> trainer(passes, how);
  std::vector<double> seen;
  for (int i = 0; i < steps; ++i) {
    passes.set_mask_step(static_cast<std::uint64_t>(i));
    seen.push_back(trainer.step());
    if (i % 3 == 0) seen.push_back(passes.evaluate());
  }
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    const MatrixView<Real> view = passes.parameter(i);
    seen.insert(seen.end(), view.data, view.data + view.size());
  }
  if (remark != nullptr) *remark = passes.remark();
  return seen;
}

}  // namespace

TEST_CASE_TEMPLATE("cuda: steps that run as graphs give the bits of steps that do not", Real, float,
                   double) {
  for (const char* optimizer : {"adamw", "lamb"}) {
    CAPTURE(optimizer);
    std::string remark;
    const emulator::GraphCounts before = emulator::graph_counts();
    const std::vector<double> plain = trained<Real>("cuda+nograph", optimizer, 5);
    CHECK(emulator::graph_counts().launches == before.launches);
    const std::vector<double> graphs = trained<Real>("cuda", optimizer, 5, &remark);
    CHECK(plain == graphs);
    CHECK(emulator::graph_counts().launches > before.launches);
    CHECK(emulator::graph_counts().updates > before.updates);
    CHECK(remark.empty());
  }
}

TEST_CASE("cuda: steps come as the same graphs again, and the numbers that change are updated") {
  Passes<float> passes(network(), {3, 1, "cuda"});
  Trainer<float> trainer(passes, optimizer_options("adamw"));
  std::vector<long> launches, updates;
  for (int i = 0; i < 8; ++i) {
    const emulator::GraphCounts before = emulator::graph_counts();
    trainer.step();
    const emulator::GraphCounts after = emulator::graph_counts();
    launches.push_back(after.launches - before.launches);
    updates.push_back(after.updates - before.updates);
  }
  CHECK(launches[0] == 0);
  CHECK(launches[3] > 0);
  // Adam has another correction at each step; nothing else differs. What is left over at the end of
  // a step may be too few kernels for a graph.
  const auto parameters = static_cast<long>(passes.parameters().size());
  CHECK(updates[4] > 0);
  CHECK(updates[4] <= parameters);
  for (std::size_t i = 4; i < 8; ++i) {
    CHECK(launches[i] == launches[3]);
    CHECK(updates[i] == updates[4]);
  }
}

TEST_CASE("cuda: a device that keeps no graphs trains the same, and says so") {
  const std::vector<double> plain = trained<float>("cuda+nograph", "adamw", 4);
  std::string remark;
  emulator::refuse_graphs(true);
  const std::vector<double> refused = trained<float>("cuda", "adamw", 4, &remark);
  emulator::refuse_graphs(false);
  CHECK(plain == refused);
  CHECK(remark ==
        "cuda:0 sends every kernel by itself: it keeps no graph (operation not permitted in a "
        "capture)");
}

TEST_CASE("cuda: another network, batch or state takes effect in the next step") {
  const auto run = [](const std::string& device) {
    Passes<double> passes(network(), {5, 1, device});
    Trainer<double> trainer(passes, optimizer_options("adam"));
    std::vector<double> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(trainer.step());
    ModelSpec spec = parse_model(kModel, "test");
    spec.dropout = 0.5;
    passes.set_network(build_network(spec));
    for (int i = 0; i < 4; ++i) losses.push_back(trainer.step());
    TokenBatch batch;
    for (int i = 0; i < 10; ++i) {
      batch.ids.push_back(i % 7);
      batch.targets.push_back((i + 1) % 7);
    }
    passes.set_batch(batch);
    losses.push_back(trainer.step());
    trainer.set_steps(0);
    losses.push_back(trainer.step());
    losses.push_back(passes.loss());
    return losses;
  };
  CHECK(run("cuda") == run("cuda+nograph"));
}

}  // namespace scalecalc
