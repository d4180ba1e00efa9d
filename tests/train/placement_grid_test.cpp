#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scalecalc/error.hpp"
#include "scalecalc/tuning.hpp"
#include "tiny.hpp"

namespace scalecalc {
namespace {

using testing::Folder, testing::tiny;

TrainRun run(const std::string& group, double rate, std::uint64_t seed, double loss,
             TrainVerdict verdict = TrainVerdict::converged) {
  TrainRun made;
  made.group = group;
  made.layers = 2;
  made.seed = seed;
  made.place = {8, {{"lr", rate}}};
  made.final_loss = loss;
  made.verdict = verdict;
  made.prediction.gradient.total = 1;
  made.prediction.loss_change = -0.1;
  ForecastSigns signs;  // of a run that trains
  signs.identity_weight = signs.identity_weight_at_start = 0.5;
  signs.relative_update = signs.relative_norm = 0.05;
  signs.loss = signs.guess = 2;
  made.prediction.signs = signs;
  made.prediction.length = {200, 0, 200};
  return made;
}

}  // namespace

TEST_CASE("best_of_grid: the lowest mean, and what the other seeds would have chosen") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<TrainRun> runs = {run("pre", 0.1, 0, 2.0),
                                      run("pre", 0.1, 1, 3.0),
                                      run("pre", 0.2, 0, 2.9),
                                      run("pre", 0.2, 1, 2.5),
                                      run("pre", 0.4, 0, 1.0),
                                      run("pre", 0.4, 1, NAN, TrainVerdict::nan),
                                      run("post", 0.1, 0, NAN, TrainVerdict::nan),
                                      run("post", 0.1, 1, NAN, TrainVerdict::nan)};
  const std::vector<BestOfGrid> cells = best_of_grid(runs);
  REQUIRE(cells.size() == 2);
  const BestOfGrid& pre = cells[0];
  REQUIRE(pre.points.size() == 3);
  CHECK(pre.best == 0);
  CHECK(pre.points[0].mean() == 2.5);
  CHECK(pre.points[2].mean() == inf);
  CHECK(pre.points[2].converged == 1);
  // Seed 1 finds 0.2 best, where seed 0 has 2.9; seed 0 finds 0.4 best, where seed 1 diverged.
  CHECK(pre.held_out == inf);
  CHECK(pre.runs == 6);
  CHECK(pre.as_forecast == 5);
  CHECK(pre.best_with("lr", 0.2) == 1);
  CHECK_FALSE(pre.best_with("lr", 0.4));
  CHECK_FALSE(pre.best_with("warmup", 0));
  CHECK_FALSE(cells[1].best);
  CHECK(std::isnan(cells[1].held_out));
  const std::vector<BestOfGrid> fewer = best_of_grid({runs.begin(), runs.begin() + 4});
  CHECK(fewer[0].held_out == (2.9 + 3.0) / 2);
  // A point that lacks a seed waits for it.
  CHECK(best_of_grid({runs.begin(), runs.begin() + 3})[0].points.size() == 1);
  CHECK(std::isnan(best_of_grid({runs[0], runs[2]})[0].held_out));
}

TEST_CASE("train_placement_grid: every placement at every point, and the folder gives it back") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TrainOptions options = tiny(folder);
  options.groups = {"pre", "post"};
  options.depths = {1, 2};
  options.steps = 4;
  const std::vector<GridAxis> grids = {{"lr", {1e-3, 1e-2}}, {"warmup", {0, 2}}};
  const std::vector<TrainRun> runs = train_placement_grid(corpus, options, grids);
  CHECK(runs.size() == 2 * 2 * 4 * 2);
  CHECK(runs[0].prediction.why_none.empty());
  const std::vector<BestOfGrid> cells = best_of_grid(runs);
  REQUIRE(cells.size() == 4);
  for (const BestOfGrid& cell : cells) {
    CHECK(cell.points.size() == 4);
    CHECK(cell.seeds == std::vector<std::uint64_t>{0, 1});
    CHECK(cell.best.has_value());
  }
  const TrainFolder read = read_train(folder.path.string());
  CHECK(placement_grid_keys(read) == std::vector<std::string>{"lr", "warmup"});
  CHECK(read.runs.size() == runs.size());
  CHECK_THROWS_AS(tuning_setup(read), Error);
  // A point of the grid is the run of these options.
  const Folder alone;
  TrainOptions single = options;
  single.folder = alone.path.string();
  single.groups = {"pre"};
  single.depths = {1};
  single.seeds = 1;
  single.optimizer.learning_rate = 1e-2;
  single.optimizer.schedule.warmup = 2;
  const double loss = train(corpus, single)[0].final_loss;
  const auto same = std::ranges::count_if(runs, [loss](const TrainRun& one) {
    return one.group == "pre" && one.layers == 1 && one.seed == 0 && one.final_loss == loss &&
           one.place.values ==
               std::vector<std::pair<std::string, double>>{{"lr", 1e-2}, {"warmup", 2}};
  });
  CHECK(same == 1);
  CHECK(placement_grid_keys(read_train(alone.path.string())).empty());
}

TEST_CASE("train_placement_grid: what is no grid") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  const TrainOptions options = tiny(folder);
  for (const std::vector<GridAxis>& grids : {std::vector<GridAxis>{},
                                             {{"lr", {}}},
                                             {{"lr", {2, 1}}},
                                             {{"lrr", {1}}},
                                             {{"momentum", {0.5}}},
                                             {{"lr", {1}}, {"lr", {2}}}})
    CHECK_THROWS_AS(train_placement_grid(corpus, options, grids), Error);
}

TEST_CASE(
    "best_rate_laws: the power of depth that the losses were made with, beside the solver's") {
  // Parabolas in ln(lr) about 0.1/N, their losses for both of two warm-ups; the second is worse.
  std::vector<TrainRun> runs;
  for (const std::int64_t layers : {2, 4, 8})
    for (const double rate : {0.003, 0.01, 0.03, 0.1})
      for (const double warmup : {0.0, 10.0})
        for (const std::uint64_t seed : {0u, 1u}) {
          TrainRun one = run("pre", rate, seed, 0);
          one.layers = layers;
          one.place.values.emplace_back("warmup", warmup);
          const double apart = std::log(rate * static_cast<double>(layers) / 0.1);
          one.final_loss = 2 + 0.1 * apart * apart + 0.01 * warmup + 0.001 * double(seed);
          runs.push_back(one);
        }
  const auto model = [](const std::string&, std::int64_t layers) {
    ModelSpec spec = parse_model(
        "[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 16\nheads = 2\n"
        "vocab = 20\nsequence = 4\nplacement = \"pre\"\n",
        "test");
    spec.layers = layers;
    return spec;
  };
  const std::vector<BestRateLaw> laws =
      best_rate_laws(best_of_grid(runs), optimizer_options("adam"), model);
  REQUIRE(laws.size() == 1);
  CHECK(laws[0].group == "pre");
  REQUIRE(laws[0].depths.size() == 3);
  for (const BestRateLaw::AtDepth& depth : laws[0].depths)
    CHECK(depth.optimum.value == doctest::Approx(0.1 / static_cast<double>(depth.layers)));
  CHECK(laws[0].law.exponent == doctest::Approx(-1));
  CHECK(laws[0].prediction.exponent);
  CHECK(laws[0].prediction.axis == GrowthAxis::depth);
  std::erase_if(runs, [](const TrainRun& one) { return one.layers > 2; });
  CHECK(best_rate_laws(best_of_grid(runs), optimizer_options("adam"), model).empty());
}

}  // namespace scalecalc
