/// Holds verify to its promise. usage:
///   bench_calibration models COUNT SEED [THREADS=2]   random models
///   bench_calibration presets RANGES [THREADS=2]      presets at smaller widths, ranges of seeds
///   bench_calibration file SEED INDEX                 a random model as a model file
///   bench_calibration shrink SEED INDEX               the least of it that still fails
#include "calibration.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "../../tests/agreement/random_models.hpp"
#include "../../tests/agreement/shrink_model.hpp"
#include "timing.hpp"

namespace scalecalc::bench {
namespace {

using namespace random_models;

void models(int count, std::uint64_t seed, int threads) {
  std::vector<ModelSpec> specs;
  for (int index = 0; index < count; ++index)
    specs.push_back(random_model(seed, static_cast<std::uint64_t>(index)));
  CalibrationOptions options;
  options.threads = threads;
  int done = 0;
  options.done = [&](const Trial&) {
    if (++done % 50 == 0) std::fprintf(stderr, "%d of %d models\n", done, count);
  };
  const double start = seconds();
  const std::vector<Trial> trials = calibrate(specs, 0, options);
  const std::string work = std::to_string(count) + " random models of seed " + std::to_string(seed);
  print_shares(work, trials);
  for (const ModelSpec::Kind kind :
       {ModelSpec::Kind::transformer, ModelSpec::Kind::mlp, ModelSpec::Kind::layers}) {
    std::vector<Trial> of_kind;
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(of_kind),
                 [kind](const Trial& trial) { return trial.spec.kind == kind; });
    print_failing(work + " of kind " + to_string(kind), of_kind);
  }
  print(work + ", time of each", (seconds() - start) / count, "s", "");
  list_failures(trials);
  list_refusals(trials);
  list_wide_bands(trials);
}

void presets_at_small_widths(int ranges, int threads) {
  std::vector<Trial> all;
  for (const SmallPreset& small : small_presets()) {
    CalibrationOptions options;
    options.threads = threads;
    const std::vector<ModelSpec> specs(static_cast<std::size_t>(ranges), small.spec);
    const std::vector<Trial> trials = calibrate(specs, 0, options);
    int failed = 0, systematic = 0;
    for (const Trial& trial : trials) {
      failed += trial.failed() ? 1 : 0;
      systematic += trial.is_systematic() ? 1 : 0;
    }
    std::fprintf(stderr, "%s: %d of %d fail, %d again at 8 times the seeds%s\n", small.name.c_str(),
                 failed, ranges, systematic,
                 (trials[0].refused.empty() ? "" : "; refused: " + trials[0].refused).c_str());
    all.insert(all.end(), trials.begin(), trials.end());
  }
  print_shares("presets at 3 widths and " + std::to_string(ranges) + " ranges of seeds", all);
  list_failures(all);
}

/// The same place of the computation fails, at as many seeds as decide that a rule is off.
ModelSpec shrunk(const ModelSpec& spec, std::uint64_t index) {
  CalibrationOptions options;
  const auto first_cause = [](const Verification& found) {
    return found.causes.empty() ? std::string()
                                : found.causes[0].rule + " " + found.causes[0].quantity;
  };
  const Trial whole = try_model(spec, index, options);
  if (!whole.is_systematic())
    throw Error(ErrorKind::input, "this model does not fail", "model " + std::to_string(index));
  const std::string fault = first_cause(*whole.again);
  return shrink(spec, [&](const ModelSpec& simpler) {
    const Trial trial = try_model(simpler, index, options);
    return trial.is_systematic() && first_cause(*trial.again) == fault;
  });
}

int run(const std::string& suite, int argc, char** argv) {
  const auto number = [&](int place, int fallback) {
    return argc > place ? std::atoi(argv[place]) : fallback;
  };
  const auto seed = static_cast<std::uint64_t>(number(suite == "models" ? 3 : 2, 0));
  const auto index = static_cast<std::uint64_t>(number(3, 0));
  if (suite == "models") {
    models(number(2, 2000), seed, number(4, 2));
  } else if (suite == "presets") {
    presets_at_small_widths(number(2, 20), number(3, 2));
  } else if (suite == "file") {
    std::printf("%s", model_text(random_model(seed, index)).c_str());
  } else if (suite == "shrink") {
    std::printf("%s", model_text(shrunk(random_model(seed, index), index)).c_str());
  } else {
    std::fprintf(stderr, "usage: bench_calibration models|presets|file|shrink [NUMBER...]\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace scalecalc::bench

int main(int argc, char** argv) {
  try {
    return scalecalc::bench::run(argc > 1 ? argv[1] : "", argc, argv);
  } catch (const scalecalc::Error& error) {
    std::fprintf(stderr, "bench_calibration: %s\n", error.what());
    return error.exit_code();
  }
}
