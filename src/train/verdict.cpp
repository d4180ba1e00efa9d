#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "scalecalc/train.hpp"
#include "train/bounds.hpp"

namespace scalecalc {
namespace {

using train_room::kLargestNorm, train_room::vanishing_block;

constexpr double kWorseThanGuess = 1.1;
/// Of the entropy of single words: what is below it uses context.
constexpr double kUsesContext = 0.95;

/// NaN where it is infinite.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double upper = values[half], lower = values.size() % 2 == 1 ? upper : values[half - 1];
  return std::isfinite(upper) ? 0.5 * (lower + upper) : std::nan("");
}

}  // namespace

std::string to_string(TrainVerdict verdict) {
  switch (verdict) {
    case TrainVerdict::converged: return "converged";
    case TrainVerdict::stall: return "stall";
    case TrainVerdict::vanishing: return "vanishing";
    case TrainVerdict::explosion: return "explosion";
    case TrainVerdict::nan: break;
  }
  return "nan";
}

TrainVerdict judge(const std::vector<TrainRecord>& records, std::int64_t vocab,
                   double unigram_entropy) {
  if (records.empty()) return TrainVerdict::stall;
  const TrainRecord& last = records.back();
  if (!std::isfinite(last.loss) || !std::isfinite(last.validation_loss)) return TrainVerdict::nan;
  const double guess = std::log(static_cast<double>(vocab));
  if (!(last.gradient.total <= kLargestNorm) || last.validation_loss > kWorseThanGuess * guess) {
    return TrainVerdict::explosion;
  }
  if (last.validation_loss <= kUsesContext * unigram_entropy) return TrainVerdict::converged;
  return vanishing_block(last.gradient) ? TrainVerdict::vanishing : TrainVerdict::stall;
}

std::optional<std::int64_t> steps_to_loss(const std::vector<TrainRecord>& records, double loss) {
  for (const TrainRecord& record : records) {
    if (record.validation_loss <= loss) return record.step;
  }
  return std::nullopt;
}

double train_target(const TrainFolder& folder, double target_loss) {
  return target_loss > 0 ? target_loss : kUsesContext * folder.unigram_entropy;
}

std::optional<std::int64_t> steps_to_loss(const TrainRun& run, double loss) {
  if (run.start && run.start->loss <= loss) return 0;
  return steps_to_loss(run.records, loss);
}

double train_target(const TrainOptions& options, const Corpus& corpus) {
  return options.target_loss > 0 ? options.target_loss : kUsesContext * corpus.unigram_entropy;
}

std::vector<TrainCell> train_table(const std::vector<TrainRun>& runs) {
  std::vector<TrainCell> cells;
  std::vector<std::vector<double>> losses, perplexities, steps;
  for (const TrainRun& run : runs) {
    const auto found = std::ranges::find_if(cells, [&run](const TrainCell& cell) {
      return cell.group == run.group && cell.layers == run.layers;
    });
    const auto at = static_cast<std::size_t>(found - cells.begin());
    if (found == cells.end()) {
      cells.emplace_back();
      cells.back().group = run.group;
      cells.back().layers = run.layers;
      losses.emplace_back();
      perplexities.emplace_back();
      steps.emplace_back();
    }
    TrainCell& cell = cells[at];
    ++cell.runs;
    if (run.verdict == TrainVerdict::converged) ++cell.converged;
    cell.verdicts.push_back(to_string(run.verdict));
    if (run.steps_to_target) ++cell.reached;
    steps[at].push_back(run.steps_to_target ? static_cast<double>(*run.steps_to_target)
                                            : std::numeric_limits<double>::infinity());
    if (!std::isfinite(run.final_loss)) continue;
    losses[at].push_back(run.final_loss);
    perplexities[at].push_back(run.perplexity);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].steps_to_target = median(steps[i]);
    cells[i].loss = base::sample_mean(losses[i]);
    cells[i].loss_error = base::error_of_mean(losses[i]);
    cells[i].perplexity = base::sample_mean(perplexities[i]);
    cells[i].perplexity_error = base::error_of_mean(perplexities[i]);
  }
  return cells;
}

}  // namespace scalecalc
