#pragma once

#include <vector>

#include "scalecalc/plot.hpp"
#include "scalecalc/train.hpp"

/// Figures of the placement experiment; at most six placements a panel.
namespace scalecalc::cli {

/// Runs, and what is known of their text; entropies may be NaN.
struct TrainedRuns {
  const std::vector<TrainRun>& runs;
  std::int64_t vocab = 0;
  double unigram_entropy = 0, entropy = 0;
};

/// The validation loss by step, a panel a depth, a line a seed.
std::vector<report::Plot> loss_plots(const TrainedRuns& trained);
/// The training loss by step, and the norm of the gradient: means over seeds with their bands.
std::vector<report::Plot> training_loss_plots(const TrainedRuns& trained);
std::vector<report::Plot> norm_plots(const TrainedRuns& trained);
/// Norms of the gradient by layer at the first step, the last and some between, a panel a placement
/// and depth.
std::vector<report::Plot> profile_plots(const TrainedRuns& trained);
/// Norms of the gradient by layer before the first update, predicted and measured, a panel a depth.
std::vector<report::Plot> gradient_plots(const TrainedRuns& trained);
/// Trained scalars in front of branches, likewise; nothing of placements without them.
std::vector<report::Plot> scale_plots(const TrainedRuns& trained);
/// The final perplexity by depth with its standard error.
std::vector<report::Plot> perplexity_plots(const TrainedRuns& trained);
/// All of them but the profiles.
report::Figure train_figure(const TrainedRuns& trained);

/// The validation loss of each cell, the mean over its seeds.
report::Curves loss_curves(const std::vector<TrainCell>& cells, const std::vector<TrainRun>& runs);

/// Mean and standard error of what is finite; NaN where there is none, and for the error fewer than
/// two.
struct MeanOf {
  double value = 0, error = 0;
};
MeanOf mean_of(std::vector<double> values);

}  // namespace scalecalc::cli
