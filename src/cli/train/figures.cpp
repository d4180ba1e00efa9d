#include "cli/train/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "cli/train/finetuning.hpp"
#include "cli/train/panels.hpp"

namespace scalecalc::cli {
namespace {

using report::AxisScale;
using report::Origin;
using report::Plot;
using report::Series;

Plot loss_plot(const TrainedRuns& trained, const std::vector<std::string>& groups,
               std::int64_t layers) {
  Plot plot = plot_over_steps();
  plot.title = "Loss curves, " + blocks_text(layers);
  plot.y.label = "validation loss";
  plot.y.unit = "nats a token";
  double last = 1;
  std::string without;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string name = groups[i];
    bool is_lost = false;
    for (const TrainRun* run : runs_of(trained, groups[i], layers)) {
      Series series{name, Origin::measured, {}, static_cast<int>(i), true};
      if (run->start) series.points.push_back({0, run->start->loss});
      for (const TrainRecord& record : run->records) {
        const double step = static_cast<double>(record.step);
        last = std::max(last, step);
        series.points.push_back({step, record.validation_loss});
      }
      is_lost = is_lost || (!series.points.empty() && std::isnan(series.points.back().y));
      plot.series.push_back(std::move(series));
      name.clear();
    }
    if (is_lost) without += (without.empty() ? "" : ", ") + groups[i];
  }
  add_entropies(trained, last, plot);
  plot.y.most = kFarFromGuess * std::log(static_cast<double>(trained.vocab));
  plot.note = "One line a seed.";
  if (!without.empty()) plot.note += " Without a number at the end: " + without + ".";
  return plot;
}

/// The mean over seeds of each layer's norm at the first step.
Series measured_gradient(const std::vector<const TrainRun*>& runs,
                         const std::vector<std::string>& layers) {
  Series series;
  for (std::size_t at = 0; at < layers.size(); ++at) {
    std::vector<double> norms;
    for (const TrainRun* run : runs) {
      if (run->records.empty()) continue;
      const LayerNorms& gradient = run->records.front().gradient;
      for (std::size_t i = 0; i < gradient.layers.size(); ++i) {
        if (gradient.layers[i] == layers[at]) norms.push_back(gradient.norms[i]);
      }
    }
    const MeanOf mean = mean_of(norms);
    series.points.push_back({static_cast<double>(at), mean.value, mean.error});
  }
  return series;
}

Series predicted_gradient(const LayerNorms& norms, const std::vector<std::string>& layers) {
  Series series;
  series.origin = Origin::predicted;
  for (std::size_t i = 0; i < norms.layers.size(); ++i) {
    const auto found = std::ranges::find(layers, norms.layers[i]);
    if (found == layers.end()) continue;
    series.points.push_back({static_cast<double>(found - layers.begin()), norms.norms[i]});
  }
  return series;
}

Plot gradient_plot(const TrainedRuns& trained, const std::vector<std::string>& groups,
                   std::int64_t layers) {
  Plot plot;
  plot.title = "Gradient by layer at the first step, " + blocks_text(layers);
  plot.x.label = "layer, from the embedding to the head";
  plot.y.label = "norm of the gradient";
  plot.y.unit = "nats";
  plot.note = "Measured: the mean over seeds with its standard error.";
  plot.x.names = layers_of(trained, groups, layers);
  std::vector<Series> predicted, measured;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<const TrainRun*> runs = runs_of(trained, groups[i], layers);
    if (runs.empty()) continue;
    const TrainPrediction& prediction = runs.front()->prediction;
    if (runs.front()->start) {
      // The rules are of drawn weights.
    } else if (!prediction.why_none.empty()) {
      plot.note += " No prediction for " + groups[i] + ": " + prediction.why_none + ".";
    } else {
      predicted.push_back(predicted_gradient(prediction.gradient, plot.x.names));
      predicted.back().name = groups[i];
      predicted.back().look = static_cast<int>(i);
    }
    measured.push_back(measured_gradient(runs, plot.x.names));
    measured.back().name = groups[i];
    measured.back().look = static_cast<int>(i);
  }
  plot.series = std::move(predicted);
  plot.series.insert(plot.series.end(), measured.begin(), measured.end());
  plot.y.scale = report::fitting_scale(plot.series);
  report::let_outliers_leave(plot);
  return plot;
}

Plot perplexity_plot(const TrainedRuns& trained, const std::vector<std::string>& groups) {
  Plot plot;
  plot.title = "Final perplexity by depth";
  plot.x.label = "depth";
  plot.x.unit = "blocks";
  plot.x.scale = AxisScale::logarithmic;
  plot.y.label = "perplexity";
  plot.y.unit = "pure number";
  plot.y.scale = AxisScale::logarithmic;
  plot.y.most = std::pow(static_cast<double>(trained.vocab), kFarFromGuess);
  plot.note = "The mean over seeds with its standard error.";
  for (const std::int64_t depth : depths_of(trained.runs)) {
    plot.x.ticks.push_back(static_cast<double>(depth));
  }
  const std::vector<TrainCell> cells = train_table(trained.runs);
  std::string without;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Series series{groups[i], Origin::measured, {}, static_cast<int>(i), true};
    for (const TrainCell& cell : cells) {
      if (cell.group != groups[i]) continue;
      const auto depth = static_cast<double>(cell.layers);
      series.points.push_back({depth, cell.perplexity, cell.perplexity_error});
      if (std::isfinite(cell.perplexity)) continue;
      without += fmt::format("{}{} at {}", without.empty() ? "" : ", ", cell.group, cell.layers);
    }
    plot.series.push_back(std::move(series));
  }
  if (!without.empty()) plot.note += " No number: " + without + ".";
  const auto add = [&](const char* name, double entropy, int look) {
    if (!std::isfinite(entropy) || plot.x.ticks.empty()) return;
    const double value = std::exp(entropy), first = plot.x.ticks.front(),
                 last = plot.x.ticks.back();
    const double beside = first < last ? 1 : 1.2;  // one depth has a line through it
    plot.series.push_back(
        {name, Origin::exact, {{first / beside, value}, {last * beside, value}}, look, false});
  };
  add("words alone", trained.unigram_entropy, kLookOfText);
  add("the text's least", trained.entropy, kLookOfText - 1);
  return plot;
}

}  // namespace

std::vector<Plot> loss_plots(const TrainedRuns& trained) {
  return by_depth(trained, loss_plot);
}

std::vector<Plot> gradient_plots(const TrainedRuns& trained) {
  return by_depth(trained, gradient_plot);
}

std::vector<Plot> perplexity_plots(const TrainedRuns& trained) {
  std::vector<Plot> plots;
  for (const auto& groups : panels_of(trained.runs)) {
    plots.push_back(perplexity_plot(trained, groups));
  }
  return plots;
}

report::Figure train_figure(const TrainedRuns& trained) {
  report::Figure figure{"Placement experiment", loss_plots(trained)};
  for (const auto& plots :
       {pretraining_plots(trained), training_loss_plots(trained), perplexity_plots(trained),
        norm_plots(trained), gradient_plots(trained)}) {
    figure.panels.insert(figure.panels.end(), plots.begin(), plots.end());
  }
  return figure;
}

report::Curves loss_curves(const std::vector<TrainCell>& cells, const std::vector<TrainRun>& runs) {
  report::Curves curves{"loss by step", {}, AxisScale::logarithmic};
  for (const TrainCell& cell : cells) {
    std::vector<std::vector<double>> by_record;
    for (const TrainRun& run : runs) {
      if (run.group != cell.group || run.layers != cell.layers) continue;
      by_record.resize(std::max(by_record.size(), run.records.size()));
      for (std::size_t i = 0; i < run.records.size(); ++i) {
        by_record[i].push_back(run.records[i].validation_loss);
      }
    }
    std::vector<double> means;
    for (const std::vector<double>& losses : by_record) means.push_back(mean_of(losses).value);
    curves.rows.push_back(std::move(means));
  }
  return curves;
}

MeanOf mean_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return {base::sample_mean(values), base::error_of_mean(values)};
}

}  // namespace scalecalc::cli
