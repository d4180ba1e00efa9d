#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "cluster/thread_ranks.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/tuning.hpp"
#include "tiny.hpp"

namespace scalecalc {
namespace {

namespace fs = std::filesystem;
using testing::Folder, testing::tiny;

/// The model of tiny() where its width is this.
TuningSize size_of(const TrainOptions& options, std::int64_t width, std::int64_t layers) {
  TuningSize size{width, layers, options.model};
  size.model.width = width;
  size.model.ffn = 2 * width;
  size.model.layers = layers;
  return size;
}

/// Three rates at two widths, some milliseconds.
TuningOptions tiny_grid(const Folder& folder, const std::string& parametrization = "mup") {
  TuningOptions options;
  options.train = tiny(folder);
  options.train.groups = {"pre"};
  options.train.steps = 6;
  options.train.model.dropout = 0;
  options.sizes = {size_of(options.train, 8, 1), size_of(options.train, 16, 1)};
  options.grids = {{"lr", {1e-3, 1e-2, 1e-1}}};
  if (!parametrization.empty()) options.parametrization = parametrization_from(parametrization);
  return options;
}

/// Every file of the folder, by name.
std::map<std::string, std::string> files_of(const Folder& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder.path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

std::vector<double> losses_of(const std::vector<TrainRun>& runs) {
  std::vector<double> losses;
  for (const TrainRun& run : runs) losses.push_back(run.final_loss);
  return losses;
}

void check_refused(const TuningOptions& options, const std::string& message,
                   const Corpus& corpus = generated_corpus(2000)) {
  CAPTURE(message);
  try {
    train_grid(corpus, options);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.message() == message);
    CHECK(error.kind() == ErrorKind::input);
    CHECK_FALSE(error.hint().empty());
  }
}

}  // namespace

TEST_CASE("tuning: stopped anywhere and begun again, by ranks or by one, the files are the same") {
  const Corpus corpus = generated_corpus(2000);
  const Folder whole, parts, shared;
  TuningOptions options = tiny_grid(whole);
  const std::vector<TrainRun> expected = train_grid(corpus, options);
  CHECK(expected.size() == 12);
  CHECK(fs::exists(whole.path / "pre-1-width16-lr0.01-seed1.jsonl"));
  options.train.folder = parts.path.string();
  options.train.threads = 2;
  int stops = 0;
  for (bool done = false; !done;) {
    int steps = 0;
    options.train.progress = [&steps](double, const std::string&) { return ++steps < 7; };
    try {
      train_grid(corpus, options);
      done = true;
    } catch (const Error& error) {
      CHECK(error.message() == "interrupted");
      ++stops;
    }
  }
  CHECK(stops > 5);
  CHECK(files_of(parts) == files_of(whole));
  options.train.progress = [](double, const std::string&) -> bool { throw 1; };
  CHECK(losses_of(train_grid(corpus, options)) == losses_of(expected));
  options.train.progress = {};
  options.train.folder = shared.path.string();
  const std::vector<std::string> well(3);
  CHECK(on_ranks(3, [&](Ranks& ranks) {
          TuningOptions own = options;
          own.train.ranks = &ranks;
          const std::size_t runs = train_grid(corpus, own).size();
          if (runs != (ranks.rank() == 0 ? 12 : 0)) throw std::runtime_error("runs");
        }) == well);
  CHECK(files_of(shared) == files_of(whole));
}

TEST_CASE("tuning: without a parametrisation each run is that of train at its width and rate") {
  const Corpus corpus = generated_corpus(2000);
  const Folder grid, plain;
  TuningOptions options = tiny_grid(grid, "");
  const std::vector<TrainRun> runs = train_grid(corpus, options);
  TrainOptions one = options.train;
  one.model = options.sizes[1].model;
  one.depths = {1};
  one.folder = plain.path.string();
  one.optimizer.learning_rate = 1e-2;
  const std::vector<TrainRun> expected = train(corpus, one);
  int compared = 0;
  for (const TrainRun& run : runs)
    if (run.place.width == 16 && run.place.values.front().second == 1e-2)
      CHECK(run.final_loss == expected.at(static_cast<std::size_t>(compared++)).final_loss);
  CHECK(compared == 2);
}

TEST_CASE("tuning: the base has the same numbers in every parametrisation, the others have not") {
  const Corpus corpus = generated_corpus(2000);
  std::map<std::string, std::vector<double>> base, large;
  for (const std::string name : {"", "standard", "mup", "spectral"}) {
    const Folder folder;
    TuningOptions options = tiny_grid(folder, name);
    options.train.seeds = 1;
    for (const TrainRun& run : train_grid(corpus, options))
      (run.place.width == 8 ? base : large)[name].push_back(run.final_loss);
  }
  for (const auto& [name, losses] : base) CHECK(losses == base.at(""));
  for (const TrainGroup& group : train_groups()) {
    CAPTURE(group.name);
    std::vector<double> own, moved;
    for (const bool is_moved : {false, true}) {
      const Folder folder;
      TuningOptions options = tiny_grid(folder, is_moved ? "mup" : "");
      options.train.groups = {group.name};
      options.train.seeds = 1;
      for (const TrainRun& run : train_grid(corpus, options))
        if (run.place.width == 8) (is_moved ? moved : own).push_back(run.final_loss);
    }
    CHECK(own == moved);
  }
  CHECK(large.at("mup") != large.at("standard"));
  const Folder folder;
  TuningOptions solved = tiny_grid(folder, "standard");
  solved.train.seeds = 1;
  solved.rates = RateSharing::solved;
  std::vector<double> losses;
  for (const TrainRun& run : train_grid(corpus, solved))
    if (run.place.width == 16) losses.push_back(run.final_loss);
  CHECK(losses != large.at("standard"));
}

TEST_CASE("tuning: every key of a grid changes what is trained") {
  const Corpus corpus = generated_corpus(2000);
  struct Case {
    std::string optimizer;
    std::vector<double> values;
  };
  const std::map<std::string, Case> cases = {{"lr", {"sgd", {0.1, 0.5, 1}}},
                                             {"rest-lr", {"muon+adamw", {1e-4, 1e-3, 1e-2}}},
                                             {"decay", {"adamw", {0.1, 1, 10}}},
                                             {"eps", {"adam", {1e-8, 1e-4, 1}}},
                                             {"momentum", {"nesterov", {0.1, 0.5, 0.9}}},
                                             {"beta1", {"lion", {0.1, 0.5, 0.9}}},
                                             {"beta2", {"adamw", {0.1, 0.5, 0.9}}},
                                             {"warmup", {"adamw", {1, 3, 6}}},
                                             {"final", {"adamw", {0.1, 0.5, 1}}},
                                             {"clip-norm", {"sgd", {0.01, 0.1, 1}}},
                                             {"dropout", {"adamw", {0.1, 0.3, 0.5}}}};
  for (const TuningKey& key : tuning_keys()) {
    CAPTURE(key.name);
    const Folder folder;
    TuningOptions options = tiny_grid(folder);
    const Case& of = cases.at(key.name);
    options.train.seeds = 1;
    options.train.optimizer = optimizer_options(of.optimizer);
    if (key.name == "final") options.train.optimizer.schedule = {Schedule::Kind::cosine, 0, 6, 0};
    options.grids = {{key.name, of.values}};
    std::set<double> losses;
    for (const TrainRun& run : train_grid(corpus, options)) losses.insert(run.final_loss);
    CHECK(losses.size() == 6);
  }
}

TEST_CASE("tuning: the second rate of a mixture keeps its ratio to the first, unless it is given") {
  const Corpus corpus = generated_corpus(2000);
  const auto losses = [&](const std::vector<GridAxis>& grids, double first, double second) {
    const Folder folder;
    TuningOptions options = tiny_grid(folder);
    options.train.seeds = 1;
    options.train.optimizer = optimizer_options("muon+adamw");
    options.train.optimizer.learning_rate = first;
    options.train.optimizer.rest.front().learning_rate = second;
    options.grids = grids;
    return losses_of(train_grid(corpus, options));
  };
  const std::vector<GridAxis> rates = {{"lr", {0.01, 0.02, 0.04}}};
  const std::vector<double> half = losses(rates, 0.02, 0.01), same = losses(rates, 0.02, 0.02);
  CHECK(half != same);
  CHECK(half == losses(rates, 0.002, 0.001));
  // At a first rate of 0.02 its second is 0.01.
  const std::vector<double> given =
      losses({{"lr", {0.01, 0.02, 0.04}}, {"rest-lr", {0.01}}}, 0.02, 0.3);
  CHECK(given[1] == half[1]);
  CHECK(given[0] != half[0]);
}

TEST_CASE("tuning: what the solver says of one rate, and of each parameter's own") {
  const Corpus corpus = generated_corpus(2000);
  const auto power = [&](const std::string& optimizer, const std::string& parametrization,
                         std::optional<RateSharing> rates = {}) {
    const Folder folder;
    TuningOptions options = tiny_grid(folder, parametrization);
    options.train.optimizer = optimizer_options(optimizer);
    options.rates = rates;
    const TuningPrediction made = tuning_setup(corpus, options).predictions.at(0);
    CHECK(made.axis == GrowthAxis::width);
    CHECK_FALSE(made.because.empty());
    return made.exponent ? made.exponent->to_string() : "none";
  };
  for (const char* optimizer : {"adam", "adamw", "lion"}) {
    CAPTURE(optimizer);
    CHECK(power(optimizer, "standard") == "-1");
    CHECK(power(optimizer, "") == "-1");
    CHECK(power(optimizer, "mup") == "0");
    CHECK(power(optimizer, "standard", RateSharing::solved) == "0");
    CHECK(power(optimizer, "mup", RateSharing::shared) == "-1");
  }
  CHECK(power("sgd", "standard") == "-1");
  CHECK(power("sgd", "mup") == "0");
  // AdamW steps the head beside Muon; hidden matrices would keep one rate.
  CHECK(power("muon", "standard") == "-1");
  CHECK(power("muon", "mup") == "0");
  const Folder folder;
  TuningOptions options = tiny_grid(folder, "standard");
  options.grids = {{"warmup", {1, 2, 3}}};
  CHECK_FALSE(tuning_setup(corpus, options).predictions.at(0).exponent.has_value());
}

TEST_CASE("tuning: a folder goes on with more values, seeds and sizes, and with nothing else") {
  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  const TuningOptions first = tiny_grid(folder);
  train_grid(corpus, first);
  TuningOptions more = first;
  more.grids = {{"lr", {1e-3, 1e-2, 3e-2, 1e-1}}};
  more.train.seeds = 3;
  more.sizes.push_back(size_of(first.train, 32, 1));
  CHECK(train_grid(corpus, more).size() == 36);
  const TrainFolder read = read_train(folder.path.string());
  CHECK(read.runs.size() == 36);
  const TuningSetup setup = tuning_setup(read);
  CHECK(setup.keys == std::vector<std::string>{"lr"});
  CHECK(setup.parametrization == "mup");
  CHECK(setup.rates == RateSharing::solved);
  const std::vector<TunedCurves> curves = tuned_curves(setup, read.runs);
  REQUIRE(curves.size() == 1);
  CHECK(curves[0].sizes.size() == 3);
  CHECK(curves[0].sizes[2].curve.size() == 4);
  CHECK(curves[0].sizes[2].curve[3].losses.size() == 3);
  CHECK(curves[0].prediction.exponent->to_string() == "0");

  const auto refused = [&](const std::function<void(TuningOptions&)>& change) {
    TuningOptions other = first;
    change(other);
    const auto before = files_of(folder);
    check_refused(other, "the folder has a run of another configuration", corpus);
    CHECK(files_of(folder) == before);
  };
  refused([](TuningOptions& of) { of.parametrization = parametrization_from("standard"); });
  refused([](TuningOptions& of) { of.rates = RateSharing::shared; });
  refused([](TuningOptions& of) { of.grids.push_back({"decay", {0.1}}); });
  refused([](TuningOptions& of) { of.grids = {{"decay", {0.1, 0.2, 0.3}}}; });
  refused([](TuningOptions& of) {
    of.grids[0].values = {2e-3, 4e-3, 8e-3};
    of.train.steps = 7;
  });
  refused([](TuningOptions& of) {
    of.sizes.erase(of.sizes.begin());
    of.sizes.push_back(size_of(of.train, 64, 1));
  });
  refused([](TuningOptions& of) { of.train.optimizer = optimizer_options("lion"); });
  TrainOptions placements = tiny(folder);
  placements.groups = {"pre"};
  CHECK_THROWS_AS(train(corpus, placements), Error);
}

TEST_CASE("tuning: curves of two axes, of other numbers, and of runs that are missing") {
  TuningSetup setup{{"lr", "decay"}, "mup", RateSharing::solved, 8, 2, {}};
  setup.predictions = {{GrowthAxis::width, Rational(0), ""}, {GrowthAxis::depth, {}, ""}};
  std::vector<TrainRun> runs;
  for (const auto& [width, layers] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{8, 2}, {16, 2}, {8, 4}})
    for (const double decay : {0.0, 0.1})
      for (const double rate : {1e-3, 1e-2, 1e-1})
        for (const std::uint64_t seed : {0, 1, 2}) {
          TrainRun run;
          run.layers = layers;
          run.seed = seed;
          run.place = {width, {{"lr", rate}, {"decay", decay}}};
          run.final_loss = 2 + std::pow(std::log10(rate) + 2, 2) + 0.01 * static_cast<double>(seed);
          if (rate == 1e-1) run.verdict = TrainVerdict::nan;
          runs.push_back(run);
        }
  // One seed is missing at one value.
  std::erase_if(runs, [](const TrainRun& run) {
    return run.place.width == 16 && run.seed == 2 && run.place.values[0].second == 1e-2;
  });
  const std::vector<TunedCurves> curves = tuned_curves(setup, runs);
  REQUIRE(curves.size() == 4);
  CHECK(curves[0].axis == GrowthAxis::width);
  CHECK(curves[1].others == std::vector<std::pair<std::string, double>>{{"decay", 0.1}});
  CHECK(curves[3].axis == GrowthAxis::depth);
  CHECK(curves[3].sizes[1].layers == 4);
  CHECK(curves[0].sizes[0].curve[0].losses.size() == 3);
  CHECK(curves[0].sizes[1].curve[0].losses.size() == 2);
  CHECK(curves[0].sizes[1].curve[2].diverged());
  CHECK(curves[0].sizes[0].optimum->kind == OptimumKind::at_divergence);
  // Of a last value whose seeds have just begun.
  TrainRun last = runs.front();
  last.place.values[0].second = 1;
  runs.push_back(last);
  CHECK(tuned_curves(setup, runs)[0].sizes[0].curve.size() == 3);
  CHECK(tuned_curves(setup, runs)[0].sizes[0].curve[2].losses.size() == 3);
  runs.resize(1);
  CHECK_FALSE(tuned_curves(setup, runs)[0].sizes[0].optimum.has_value());
}

TEST_CASE("tuning: what shorter runs would have found is read at the steps that are recorded") {
  TuningSetup setup{{"lr"}, "own", RateSharing::shared, 8, 2, {}};
  setup.predictions = {{GrowthAxis::width, Rational(-1), ""}};
  setup.is_open_ended = true;
  // The best rate is 0.01 (width/8)^power, exactly, with another power at each step.
  const std::map<std::int64_t, double> powers = {{1, 0}, {10, -2}, {20, -1.5}, {25, -1}};
  std::vector<TrainRun> runs;
  for (const std::int64_t width : {8, 16, 32})
    for (const double rate : {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2}) {
      TrainRun run;
      run.layers = 2;
      run.place = {width, {{"lr", rate}}};
      for (const auto& [step, power] : powers) {
        const double best = std::log(0.01) + power * std::log(static_cast<double>(width) / 8);
        TrainRecord& record = run.records.emplace_back();
        record.step = step;
        constexpr double untrained = 100;
        record.validation_loss = step == 1 ? untrained : 2 + std::pow(std::log(rate) - best, 2);
      }
      run.final_loss = run.records.back().validation_loss;
      runs.push_back(run);
    }
  const std::vector<TunedLaw> course = tuned_curves(setup, runs).at(0).course;
  REQUIRE(course.size() == 3);
  for (const TunedLaw& law : course) {
    CAPTURE(law.steps);
    // Parabolas that are exact: rounding, which the fits' sums of a few terms multiply.
    CHECK(law.law.exponent == doctest::Approx(powers.at(law.steps)).epsilon(1e-9));
    CHECK(law.optima.size() == 3);
  }
  CHECK(course.back().law.exponent == tuned_curves(setup, runs)[0].law.exponent);
  // A run that had diverged has no later record, and leaves a place beside it.
  TrainRun& lost = runs.at(5);
  lost.records.resize(2);
  lost.verdict = TrainVerdict::nan;
  const std::vector<TunedLaw> beside = tuned_curves(setup, runs).at(0).course;
  CHECK(beside[0].optima[0]->kind == OptimumKind::inside);
  CHECK(beside[1].optima[0]->kind == OptimumKind::at_divergence);
  // Nor has one whose loss is finite, and far above that before training.
  const std::size_t last = lost.records.size() - 1;
  lost.verdict = TrainVerdict::explosion;
  lost.records[last].validation_loss = lost.final_loss = 1e27;
  const TunedCurves exploded = tuned_curves(setup, runs).at(0);
  CHECK(exploded.course[0].optima[0]->kind == OptimumKind::at_divergence);
  CHECK(exploded.sizes[0].curve[5].diverged());
  setup.is_open_ended = false;
  CHECK(tuned_curves(setup, runs)[0].course.empty());

  const Corpus corpus = generated_corpus(2000);
  const Folder folder;
  TuningOptions options = tiny_grid(folder);
  CHECK(tuning_setup(corpus, options).is_open_ended);
  options.train.optimizer.schedule = {Schedule::Kind::cosine, 1, options.train.steps, 0};
  CHECK_FALSE(tuning_setup(corpus, options).is_open_ended);
}

TEST_CASE("tuning: what is no grid is refused") {
  const Folder folder;
  const TuningOptions good = tiny_grid(folder);
  const auto with = [&](const std::function<void(TuningOptions&)>& change) {
    TuningOptions made = good;
    change(made);
    return made;
  };
  const auto grids = [&](const std::vector<GridAxis>& axes) {
    return with([&](TuningOptions& of) { of.grids = axes; });
  };
  check_refused(grids({}), "the grid is empty");
  check_refused(grids({{"lr", {1e-3}}}), "lr has 1 value");
  check_refused(grids({{"lr", {1e-3, 1e-2}}}), "lr has 2 values");
  check_refused(grids({{"lr", {1e-2, 1e-3, 1e-1}}}), "lr does not rise");
  check_refused(grids({{"decay", {0, 0.1, 0.2}}}), "decay is 0, and its logarithm is searched");
  check_refused(grids({{"lr", {1, 2, std::nan("")}}}), "lr does not rise");
  check_refused(grids({{"lr", {1, 2, 1e300}}}), "lr is 1e+300");
  check_refused(grids({{"lr", {1, 2, 3}}, {"warmup", {0.5}}}), "warmup is 0.5");
  check_refused(grids({{"lr", {1, 2, 3}}, {"decay", {}}}), "decay has 0 values");
  check_refused(grids({{"lr", {1, 2, 3}}, {"lr", {1}}}), "lr is given twice");
  check_refused(grids({{"lrs", {1, 2, 3}}}), "unknown number of a grid 'lrs'");
  check_refused(grids({{"rest-lr", {1, 2, 3}}}), "adamw has no second optimizer");
  check_refused(grids({{"momentum", {0.1, 0.2, 0.3}}}), "adamw has no momentum");
  check_refused(grids({{"final", {0.1, 0.2, 0.3}}}), "the schedule has no final rate");
  check_refused(with([](TuningOptions& of) { of.sizes.pop_back(); }),
                "a power of the size needs two sizes at least");
  check_refused(with([](TuningOptions& of) { of.sizes.push_back(of.sizes[1]); }),
                "a size is given twice");
  check_refused(with([](TuningOptions& of) { of.sizes.push_back(size_of(of.train, 16, 2)); }),
                "a size differs from the base in width and in depth");
  check_refused(with([](TuningOptions& of) {
                  of.train.groups = {"pre", "post"};
                }),
                "a grid is of one placement");
  check_refused(with([](TuningOptions& of) { of.train.seeds = 0; }), "seeds is 0");
  check_refused(with([](TuningOptions& of) { of.train.seeds = 200; }),
                "the number of runs is 1200");
  CHECK_FALSE(fs::exists(folder.path));
}

}  // namespace scalecalc
