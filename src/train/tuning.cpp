#include "scalecalc/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "coordinates/sized.hpp"
#include "scalecalc/error.hpp"
#include "train/open_ended.hpp"
#include "train/predicted_rate.hpp"
#include "train/run.hpp"
#include "train/tuning_keys.hpp"

namespace scalecalc {
namespace {

using train_room::Json, train_room::RunPlan;
using Ratios = std::array<double, growth_axes>;

[[noreturn]] void refuse(const std::string& message, const std::string& where,
                         const std::string& hint) {
  throw Error(ErrorKind::input, message, where, hint);
}

void check(const TuningOptions& options) {
  train_room::check_grid(options.grids, 3);
  if (options.train.groups.size() != 1)
    refuse("a grid is of one placement", "placements", "for example --placements pre");
  if (options.sizes.size() < 2)
    refuse("a power of the size needs two sizes at least", "sizes", "for example 32, 64, 128");
  const TuningSize& base = options.sizes.front();
  std::set<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const TuningSize& size : options.sizes) {
    if (size.width != base.width && size.layers != base.layers)
      refuse("a size differs from the base in width and in depth", "sizes",
             "let one of them grow at a time");
    if (!sizes.insert({size.width, size.layers}).second)
      refuse("a size is given twice", "sizes", "give each once");
  }
}

RateSharing rates_of(const TuningOptions& options) {
  if (options.rates) return *options.rates;
  const bool is_standard = !options.parametrization || options.parametrization->name == "standard";
  return is_standard ? RateSharing::shared : RateSharing::solved;
}

/// One number for all parameters and sizes.
void share_rates(TransferSolution& solution) {
  for (TensorTransfer& tensor : solution.tensors) {
    tensor.lr = Exponents();
    if (tensor.decay) tensor.decay = Exponents();
    if (tensor.eps) tensor.eps = Exponents();
  }
}

class Planner {
 public:
  Planner(const Corpus& corpus, const TuningOptions& options)
      : corpus_(corpus),
        options_(options),
        base_((check(options), options.sizes.front())),
        rates_(rates_of(options)) {
    for (const TuningSize& size : options.sizes) {
      if (size.width != base_.width) add_axis(GrowthAxis::width, size);
      if (size.layers != base_.layers) add_axis(GrowthAxis::depth, size);
    }
    std::ranges::sort(axes_);
    if (options.parametrization) solve();
    for (const GrowthAxis axis : axes_) setup_.predictions.push_back(predict(axis));
    for (const GridAxis& grid : options.grids) setup_.keys.push_back(grid.key);
    setup_.parametrization = options.parametrization ? options.parametrization->name : "own";
    setup_.rates = rates_;
    setup_.is_open_ended =
        train_room::is_open_ended(options.train.optimizer, options.train.groups.front());
    setup_.base_width = base_.width;
    setup_.base_layers = base_.layers;
  }

  const TuningSetup& setup() const { return setup_; }

  std::vector<RunPlan> plans() const {
    std::int64_t runs = options_.train.seeds;
    for (const GridAxis& grid : options_.grids)
      runs *= static_cast<std::int64_t>(grid.values.size());
    train_room::check_experiment(options_.train,
                                 runs * static_cast<std::int64_t>(options_.sizes.size()));
    const Json tuning = remembered();
    std::vector<RunPlan> made;
    for (const TuningSize& size : options_.sizes)
      train_room::each_point(options_.grids,
                             [&](const std::vector<std::pair<std::string, double>>& values) {
                               RunPlan plan = plan_at(size, values);
                               plan.tuning = tuning;
                               for (int seed = 0; seed < options_.train.seeds; ++seed) {
                                 plan.seed = options_.train.seed + static_cast<std::uint64_t>(seed);
                                 made.push_back(plan);
                               }
                             });
    return made;
  }

 private:
  void add_axis(GrowthAxis axis, const TuningSize& size) {
    if (std::ranges::find(axes_, axis) == axes_.end()) axes_.push_back(axis);
    largest_[static_cast<std::size_t>(axis)] = &size;
  }

  ModelSpec spec_at(const TuningSize& size) const {
    TrainOptions of_size = options_.train;
    of_size.model = size.model;
    return train_model(of_size, train_group(options_.train.groups.front()), size.layers, corpus_);
  }

  Ratios ratios_of(const TuningSize& size) const {
    Ratios ratios;
    ratios.fill(1);
    ratios[static_cast<std::size_t>(GrowthAxis::width)] =
        static_cast<double>(size.width) / static_cast<double>(base_.width);
    ratios[static_cast<std::size_t>(GrowthAxis::depth)] =
        static_cast<double>(size.layers) / static_cast<double>(base_.layers);
    return ratios;
  }

  TransferProblem problem(const std::vector<GrowthAxis>& axes) const {
    TransferProblem made;
    made.optimizer = coordinates::rule_of(options_.train.optimizer);
    made.axes = axes;
    made.model = transfer_model(spec_at(base_), axes);
    return made;
  }

  void solve() {
    TransferProblem of_grid = problem(axes_);
    of_grid.parametrization = *options_.parametrization;
    solved_ = std::make_shared<TransferSolution>(solve_transfer(of_grid));
    auto used = std::make_shared<TransferSolution>(*solved_);
    if (rates_ == RateSharing::shared) share_rates(*used);
    used_ = used;
  }

  TuningPrediction predict(GrowthAxis axis) const {
    const std::string& key = options_.grids.front().key;
    if (rates_ == RateSharing::solved && options_.parametrization) {
      if (key == "lr" || key == "rest-lr" || key == "decay" || key == "eps")
        return {axis, Rational(0), "each parameter has its own by the solver"};
      return {axis, {}, "the solver has no rule for " + key};
    }
    if (key != "lr") return {axis, {}, "there is no rule for one " + key + " of all parameters"};
    if (solved_) return train_room::largest_stable_rate(axis, *solved_);
    const TuningSize& largest = *largest_[static_cast<std::size_t>(axis)];
    return train_room::own_rate(spec_at(base_), spec_at(largest), axis,
                                ratios_of(largest)[static_cast<std::size_t>(axis)],
                                options_.train.optimizer);
  }

  RunPlan plan_at(const TuningSize& size,
                  const std::vector<std::pair<std::string, double>>& values) const {
    ModelSpec base = spec_at(base_);
    RunPlan plan{options_.train.groups.front(), size.layers, 0, spec_at(size),
                 options_.train.optimizer};
    OptimizerOptions ignored = options_.train.optimizer;
    train_room::set_numbers(values, options_.train.optimizer, ignored, base);
    train_room::set_numbers(values, options_.train.optimizer, plan.optimizer, plan.spec);
    validate(plan.optimizer);
    validate(plan.spec, "grid");
    plan.place = {size.width, values};
    plan.is_predicted = false;  // a grid of sizes compares losses alone
    if (!used_) return plan;
    const Ratios ratios = ratios_of(size);
    plan.optimizer.factors =
        coordinates::sized(base, plan.spec, *used_, ratios, plan.optimizer).optimizer.factors;
    plan.network = [base, solution = used_, ratios](const ModelSpec& spec) {
      return transferred_network(base, spec, *solution, ratios).network;
    };
    return plan;
  }

  /// All that decides a run beside its options.
  Json remembered() const {
    Json predictions = Json::array();
    for (const TuningPrediction& of : setup_.predictions)
      predictions.push_back({{"axis", to_string(of.axis)},
                             {"exponent", of.exponent ? Json(of.exponent->to_string()) : Json()},
                             {"because", of.because}});
    Json made = {{"keys", setup_.keys},
                 {"parametrization", setup_.parametrization},
                 {"rates", rate_sharing_names()[static_cast<std::size_t>(rates_)]},
                 {"base", {{"width", base_.width}, {"layers", base_.layers}}},
                 {"optimizer", train_room::optimizer_json(options_.train.optimizer)},
                 {"model", model_text(spec_at(base_))}};
    if (used_) made["numbers"] = numbers();
    made["predictions"] = predictions;
    return made;
  }

  Json numbers() const {
    Json made = {{"branch", used_->branch.formula()}};
    if (used_->scores) made["scores"] = used_->scores->formula();
    for (const TensorTransfer& tensor : used_->tensors) {
      Json of = {{"multiplier", tensor.multiplier.formula()},
                 {"std", tensor.std.formula()},
                 {"lr", tensor.lr.formula()}};
      if (tensor.decay) of["decay"] = tensor.decay->formula();
      if (tensor.eps) of["eps"] = tensor.eps->formula();
      made[tensor.tensor.name] = of;
    }
    return made;
  }

  const Corpus& corpus_;
  const TuningOptions& options_;
  const TuningSize& base_;
  RateSharing rates_;
  std::vector<GrowthAxis> axes_;
  std::array<const TuningSize*, growth_axes> largest_ = {};
  std::shared_ptr<const TransferSolution> solved_;
  std::shared_ptr<const TransferSolution> used_;  ///< nothing: own inits, one rate
  TuningSetup setup_;
};

/// What is the same for every point: the model, the schedule, the optimizer of the base.
TuningOptions with_base(TuningOptions options) {
  if (!options.sizes.empty()) options.train.model = options.sizes.front().model;
  return options;
}

}  // namespace

const std::vector<std::string>& rate_sharing_names() {
  static const std::vector<std::string> names = {"shared", "solved"};
  return names;
}

TuningSetup tuning_setup(const Corpus& corpus, const TuningOptions& options) {
  const TuningOptions of_base = with_base(options);
  return Planner(corpus, of_base).setup();
}

std::vector<TrainRun> train_grid(const Corpus& corpus, const TuningOptions& options) {
  const TuningOptions of_base = with_base(options);
  const Planner planner(corpus, of_base);
  const std::vector<RunPlan> plans = planner.plans();
  return train_room::train_plans(corpus, of_base.train, plans);
}

}  // namespace scalecalc
