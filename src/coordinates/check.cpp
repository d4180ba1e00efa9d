#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "coordinates/sized.hpp"
#include "scalecalc/coordinates.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/steps.hpp"
#include "transfer/solve.hpp"

namespace scalecalc {
namespace {

using coordinates::Sized;

OptimizerOptions options_of(const CoordinateOptions& options) {
  OptimizerOptions made = optimizer_options(options.optimizer);
  made.learning_rate = options.lr;
  made.adamw_learning_rate = options.rest_lr;
  made.weight_decay = 0;
  for (OptimizerOptions& part : made.rest) {
    part.learning_rate = part.adamw_learning_rate = options.rest_lr;
    part.weight_decay = 0;
  }
  return made;
}

class Check {
 public:
  explicit Check(const CoordinateOptions& options) : options_(options) {
    validate();
    optimizer_ = options_of(options);
    const ModelSpec& base = options.sizes.front().model;
    problem_.optimizer = coordinates::rule_of(optimizer_);
    problem_.axes = {options.axis};
    problem_.model = transfer_model(base, problem_.axes);
    problem_.parametrization =
        options.parametrization
            ? *options.parametrization
            : own_parametrization(base, options.sizes.back().model, ratio(options.sizes.size() - 1),
                                  options.axis, problem_.model);
  }

  CoordinateCheck run() {
    solution_ = solve_exponents(problem_);
    judge();
    for (std::size_t i = 0; i < options_.sizes.size(); ++i) {
      const Sized sized = at(i);
      const StepSamples samples = measure(sized, i);
      add(samples);
      predict(sized, i);
    }
    average();
    return std::move(made_);
  }

 private:
  void validate() const {
    const auto refuse = [](const std::string& message, const char* where, const char* hint) {
      throw Error(ErrorKind::input, message, where, hint);
    };
    if (options_.sizes.size() < 2)
      refuse("a power of the size needs two sizes at least", "sizes", "for example 64, 128, 256");
    for (std::size_t i = 0; i < options_.sizes.size(); ++i)
      if (!(options_.sizes[i].size > (i == 0 ? 0 : options_.sizes[i - 1].size)))
        refuse("sizes are above 0 and rise", "sizes", "for example 64, 128, 256");
    for (const double lr : {options_.lr, options_.rest_lr})
      if (!(lr > 0) || !std::isfinite(lr))
        refuse("learning rates are above 0", "lr", "for example 1e-3");
  }

  double ratio(std::size_t i) const { return options_.sizes[i].size / options_.sizes.front().size; }

  void judge() {
    if (!options_.parametrization && options_.axis == GrowthAxis::depth && has_own_depth_law()) {
      made_.remarks.push_back(
          "the model's stds have powers of its depth, which act as the multipliers of its branches "
          "do: its numbers are not judged over depth; a parametrisation is");
      return;
    }
    made_.findings = transfer_findings(problem_);
    for (const TransferFinding& finding : made_.findings)
      if (finding.quantity == "lr") made_.base_lr[finding.tensor] = lr_of(finding.tensor);
    add_warnings();
  }
  /// What the solver says of the set-up with right learning rates. What the findings say, or the
  /// networks have, is left out.
  void add_warnings() {
    TransferProblem right =
        without(problem_, &GivenNumbers::lr, &GivenNumbers::decay, &GivenNumbers::eps);
    right.parametrization.attention = solution_.attention;
    for (const std::string& warning : solve_exponents(right).warnings) {
      const bool is_own = !options_.parametrization;
      if (!warning.starts_with("the model's own powers of its depth"))
        made_.remarks.push_back(warning);
      else if (!is_own)
        made_.remarks.push_back(
            "the model's own powers of its depth are left out: those of the parametrisation stand "
            "in their place");
    }
  }

  bool is_first(const TransferTensor& tensor) const {
    const TransferOptimizer& optimizer = problem_.optimizer;
    return !optimizer.rest || steps_first(optimizer.first_roles, tensor.role, tensor.is_matrix);
  }
  double lr_of(const std::string& name) const {
    for (const TensorTransfer& tensor : solution_.tensors)
      if (tensor.tensor.name == name)
        return is_first(tensor.tensor) ? options_.lr : options_.rest_lr;
    return options_.lr;
  }
  bool has_own_depth_law() const {
    for (const auto& [name, numbers] : problem_.parametrization.tensors)
      if (numbers.std && !(*numbers.std)[GrowthAxis::depth].is_zero()) return true;
    return false;
  }

  Sized at(std::size_t i) const {
    if (!options_.parametrization) return {build_network(options_.sizes[i].model), optimizer_};
    std::array<double, growth_axes> ratios;
    ratios.fill(1);
    ratios[static_cast<std::size_t>(options_.axis)] = ratio(i);
    return coordinates::sized(options_.sizes.front().model, options_.sizes[i].model, solution_,
                              ratios, optimizer_);
  }

  StepSamples measure(const Sized& sized, std::size_t i) const {
    const double count = static_cast<double>(options_.sizes.size());
    std::function<bool(double)> progress;
    if (options_.progress)
      progress = [this, i, count](double done) {
        return options_.progress((static_cast<double>(i) + done) / count);
      };
    return sample_steps(sized.network, options_.passes, sized.optimizer, options_.steps,
                        options_.seeds, false, progress);
  }

  void add(const StepSamples& samples) {
    counts_.emplace_back();
    for (const SiteSteps& site : samples.sites) {
      CoordinatePoint& point = point_of(site.path, site.kind);
      if (counts_.back()[path_pattern(site.path)]++ == 0) {
        point.second = site.second;
        point.change = site.change;
        continue;
      }
      add_to(point.second, site.second);
      add_to(point.change, site.change);
    }
    made_.loss.push_back(samples.loss);
    for (const std::vector<double>& step : samples.loss)
      for (const double loss : step) made_.finite = made_.finite && std::isfinite(loss);
  }
  using Squares = std::vector<std::vector<double>>;
  static void add_to(Squares& sum, const Squares& more) {
    for (std::size_t step = 0; step < sum.size(); ++step)
      for (std::size_t seed = 0; seed < sum[step].size(); ++seed)
        sum[step][seed] += more[step][seed];
  }

  /// Of the size that is being added.
  CoordinatePoint& point_of(const std::string& path, const std::string& kind) {
    const std::string pattern = path_pattern(path);
    const auto [found, is_new] = sites_.try_emplace(pattern, made_.sites.size());
    if (is_new) made_.sites.push_back({pattern, kind, {}});
    std::vector<CoordinatePoint>& points = made_.sites[found->second].points;
    points.resize(options_.sizes.size());
    return points[counts_.size() - 1];
  }

  void predict(const Sized& sized, std::size_t i) {
    PropagateOptions options;
    options.threads = options_.passes.threads;
    const Trace trace = propagate(sized.network, options);
    for (const Site& site : trace.sites)
      sum(made_.sites[sites_.at(path_pattern(site.path))].points[i].predicted_second, site.second);
    if (!can_predict_) return;
    try {
      const int steps = std::min(options_.steps, predicted_steps);
      for (int step = 1; step <= steps; ++step)
        for (const StepSite& site :
             predict_steps(sized.network, trace, sized.optimizer, step).sites) {
          std::vector<Figure>& change =
              made_.sites[sites_.at(path_pattern(site.path))].points[i].predicted_change;
          change.resize(static_cast<std::size_t>(steps) + 1);
          sum(change[static_cast<std::size_t>(step)], site.change);
        }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      can_predict_ = false;
      made_.remarks.push_back(std::string("no prediction of the first step: ") + error.message());
    }
  }
  /// Errors of one rule go the same way.
  static void sum(Figure& sum, const Figure& more) {
    if (!sum.is_known()) {
      sum = more;
      return;
    }
    sum.value += more.value;
    sum.error += more.error;
    sum.truncation += more.truncation;
  }

  static void divide(Figure& figure, double count) {
    figure.value /= count;
    figure.error *= 1 / count;
    figure.truncation *= 1 / count;
  }

  /// Of the blocks that a site stands in.
  void average() {
    for (CoordinateSite& site : made_.sites)
      for (std::size_t i = 0; i < site.points.size(); ++i) {
        const double count = counts_[i][site.path];
        CoordinatePoint& point = site.points[i];
        for (Squares* squares : {&point.second, &point.change})
          for (std::vector<double>& step : *squares)
            for (double& square : step) square /= count;
        divide(point.predicted_second, count);
        for (Figure& figure : point.predicted_change) divide(figure, count);
      }
  }

  const CoordinateOptions& options_;
  OptimizerOptions optimizer_;
  TransferProblem problem_;
  TransferSolution solution_;
  bool can_predict_ = true;
  std::map<std::string, std::size_t> sites_;        ///< index of each pattern
  std::vector<std::map<std::string, int>> counts_;  ///< of each pattern, by size
  CoordinateCheck made_;
};

}  // namespace

CoordinateCheck coordinate_check(const CoordinateOptions& options) {
  return Check(options).run();
}

}  // namespace scalecalc
