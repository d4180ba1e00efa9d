#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/train.hpp"
#include "tiny.hpp"

namespace scalecalc {

using testing::Folder, testing::tiny;

TEST_CASE("train: a ramp in front of any branch") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder, other;
  TrainOptions options = tiny(folder);
  options.groups = {"none+ramp", "post+ramp"};
  options.depths = {1};
  options.seeds = 1;
  options.ramp_steps = 4;
  CHECK(train_model(options, train_group("none+ramp"), 1, corpus).ramp == 0.25);
  CHECK(train_model(options, train_group("none"), 1, corpus).ramp == 1);
  const std::vector<TrainRun> ramped = train(corpus, options);
  options.groups = {"none", "branchnorm"};
  options.folder = other.path.string();
  const std::vector<TrainRun> plain = train(corpus, options);
  // With a quarter of the branch the first gradient is another one; at the end the ramp is 1.
  CHECK(ramped[0].records[0].gradient.total != plain[0].records[0].gradient.total);
  // BranchNorm has a final norm, so that its head's gradient is that of post but for the norm's
  // eps: 1e-5 of a variance of 1, and as much again for the rounding of floats.
  const double head = ramped[1].records[0].gradient.norms.back();
  CHECK(head == doctest::Approx(plain[1].records[0].gradient.norms.back()).epsilon(2e-5));
  const TrainFolder read = read_train(folder.path.string());
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[0].group == "none+ramp");
  CHECK(read.runs[1].group == "post+ramp");
}

TEST_CASE("train: a ramp grows to 1 over its steps") {
  const Corpus corpus = generated_corpus(2000);
  const auto trained = [&corpus](const char* group, std::int64_t ramp_steps) {
    const Folder folder;
    TrainOptions options = tiny(folder);
    options.groups = {group};
    options.depths = {1};
    options.seeds = 1;
    options.ramp_steps = ramp_steps;
    return train(corpus, options).front();
  };
  const auto of_block = [](const TrainRun& run) {
    const LayerNorms& norms = run.records.back().gradient;
    const auto at = std::ranges::find(norms.layers, "block[0]") - norms.layers.begin();
    return norms.norms[static_cast<std::size_t>(at)];
  };
  // Over one step: 1 from the first on, the same bits.
  CHECK(trained("none+ramp", 1).final_loss == trained("none", 0).final_loss);
  // The gradient of a branch goes as its ramp, at step 12 of 1000 and of 4.
  CHECK(of_block(trained("none+ramp", 1000)) < 0.1 * of_block(trained("none+ramp", 4)));
}

TEST_CASE("train: trained scalars of branches are recorded, and read again") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TrainOptions options = tiny(folder);
  options.groups = {"rezero", "pre"};
  options.depths = {2};
  options.seeds = 1;
  const std::vector<TrainRun> runs = train(corpus, options);
  REQUIRE(runs.size() == 2);
  for (const TrainRecord& record : runs[0].records) {
    REQUIRE(record.scales.size() == 4);
    CHECK(record.scales[0].first == "block[0].attn.scale");
    CHECK(record.scales[3].first == "block[1].ffn.scale");
    // Adam's first step is of the size of the rate.
    if (record.step == 1)
      CHECK(std::fabs(record.scales[0].second) ==
            doctest::Approx(options.optimizer.learning_rate).epsilon(0.01));
  }
  CHECK(runs[1].records.back().scales.empty());
  const TrainFolder read = read_train(folder.path.string());
  CHECK(read.runs[1].group == "rezero");
  CHECK(read.runs[1].records.back().scales == runs[0].records.back().scales);
}

}  // namespace scalecalc
