#include "cli/train/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/train/best.hpp"
#include "cli/train/figures.hpp"
#include "cli/train/finetuning.hpp"
#include "cli/train/forecast.hpp"

namespace scalecalc::cli {
namespace {

using report::known;
using report::Value;

template <class Items>
Value list_of_items(const Items& items) {
  Value list = Value::array();
  for (const auto& item : items) list.push_back(item);
  return list;
}

Value grid_value(const std::vector<GridAxis>& grids) {
  Value axes = Value::object();
  for (const GridAxis& axis : grids) axes[axis.key] = list_of_items(axis.values);
  return axes;
}

Value inputs_of(const TrainAnswer& answer) {
  const TrainOptions& options = answer.options;
  Value inputs = Value::object();
  if (!answer.axes.empty()) inputs["grid"] = grid_value(answer.axes);
  if (answer.grid) {
    Value widths = Value::array(), layers = Value::array();
    for (const TuningSize& size : answer.grid->sizes) {
      widths.push_back(size.width);
      layers.push_back(size.layers);
    }
    inputs["grid"] = grid_value(answer.grid->grids);
    inputs["widths"] = widths;
    inputs["layers"] = layers;
  }
  inputs["profile"] = answer.profile;
  inputs["model"] = answer.model.empty() ? Value() : Value(answer.model);
  if (!answer.finetune_from.empty()) inputs["finetune_from"] = answer.finetune_from;
  inputs["placements"] = list_of_items(options.groups);
  inputs["depths"] = list_of_items(options.depths);
  inputs["seeds"] = options.seeds;
  inputs["seed"] = static_cast<std::int64_t>(options.seed);
  inputs["steps"] = train_steps(options, answer.corpus);
  inputs["record_every"] = options.record_every;
  inputs["validation_batches"] = options.validation_batches;
  inputs["target_loss"] = train_target(options, answer.corpus);
  inputs["optimizer"] = optimizer_text(options.optimizer);
  inputs["learning_rate"] = options.optimizer.learning_rate;
  inputs["warmup"] = options.optimizer.schedule.warmup;
  inputs["weight_decay"] = options.optimizer.weight_decay;
  inputs["clip_norm"] = options.optimizer.clip_norm;
  inputs["text"] = answer.corpus.name;
  return inputs;
}

Value corpus_value(const Corpus& corpus) {
  Value value = Value::object();
  value["name"] = corpus.name;
  value["description"] = corpus.description;
  value["license"] = corpus.license;
  value["vocab"] = corpus.vocab();
  value["train_tokens"] = static_cast<std::int64_t>(corpus.train.size());
  value["validation_tokens"] = static_cast<std::int64_t>(corpus.validation.size());
  value["unigram_entropy"] = corpus.unigram_entropy;
  if (corpus.bytes_per_token > 0) value["bytes_per_token"] = corpus.bytes_per_token;
  if (corpus.bytes_per_token > 0 || corpus.unknown > 0) value["unknown"] = corpus.unknown;
  value["entropy"] = corpus.entropy ? Value(*corpus.entropy) : Value();
  return value;
}

double measured_gradient(const TrainRun& run) {
  return run.records.empty() ? std::nan("") : run.records.front().gradient.total;
}

/// The smallest and largest norm of the blocks' gradients.
struct Range {
  double least = std::nan(""), most = std::nan("");
};
Range blocks_of(const LayerNorms& norms) {
  Range range;
  for (std::size_t i = 0; i < norms.layers.size(); ++i) {
    if (!norms.layers[i].starts_with("block[")) continue;
    range.least = std::fmin(range.least, norms.norms[i]);
    range.most = std::fmax(range.most, norms.norms[i]);
  }
  return range;
}

Value layers_value(const LayerNorms& norms) {
  Value layers = Value::object();
  for (std::size_t i = 0; i < norms.layers.size(); ++i) layers[norms.layers[i]] = norms.norms[i];
  return layers;
}

Value gradients_value(const TrainRun& run) {
  Value gradients = Value::object();
  gradients["predicted"] = run.prediction.gradient.total;
  gradients["measured"] = measured_gradient(run);
  gradients["predicted_layers"] = layers_value(run.prediction.gradient);
  gradients["measured_layers"] =
      run.records.empty() ? Value() : layers_value(run.records.front().gradient);
  gradients["predicted_loss_change"] = run.prediction.loss_change;
  if (!run.prediction.why_none.empty()) gradients["no_prediction"] = run.prediction.why_none;
  return gradients;
}

Value records_value(const TrainRun& run) {
  Value records = Value::array();
  for (const TrainRecord& record : run.records) {
    Value entry = Value::object();
    entry["step"] = record.step;
    entry["loss"] = record.loss;
    entry["gradient_norm"] = record.gradient.total;
    entry["update_ratio"] = record.update_ratio;
    entry["validation_loss"] = record.validation_loss;
    entry["perplexity"] = std::exp(record.validation_loss);
    for (const auto& [path, value] : record.scales) entry["scales"][path] = value;
    if (record.pretraining_loss) entry["pretraining_loss"] = *record.pretraining_loss;
    records.push_back(entry);
  }
  return records;
}

Value runs_value(const std::vector<TrainRun>& runs) {
  Value list = Value::array();
  for (const TrainRun& run : runs) {
    Value entry = Value::object();
    entry["placement"] = run.group;
    entry["layers"] = run.layers;
    entry["seed"] = static_cast<std::int64_t>(run.seed);
    entry["verdict"] = to_string(run.verdict);
    entry["final_loss"] = run.final_loss;
    entry["perplexity"] = run.perplexity;
    entry["steps"] = run.steps;
    entry["steps_to_target"] = run.steps_to_target ? Value(*run.steps_to_target) : Value();
    if (run.start) {
      entry["start"] = start_value(*run.start);
    } else {
      const std::optional<Forecast> expected = forecast(run.prediction);
      entry["forecast"] = expected ? forecast_value(*expected) : Value();
    }
    entry["first_gradient"] = gradients_value(run);
    entry["records"] = records_value(run);
    list.push_back(entry);
  }
  return list;
}

Value cells_value(const TrainAnswer& answer, const std::vector<TrainCell>& cells) {
  Value list = Value::array();
  for (const TrainCell& cell : cells) {
    Value entry = cell_value(cell);
    if (!are_finetuned(answer.runs)) {
      const ForecastShare share = forecast_share(cell, answer.runs);
      entry["forecast"] = share.word();
      entry["forecast_probability"] = share.value();
      entry["as_forecast"] = share.agree;
    }
    add_per_byte(answer.corpus.bytes_per_token, cell.loss, entry);
    list.push_back(entry);
  }
  return list;
}

report::Table outcome(const TrainAnswer& answer, const std::vector<TrainCell>& cells) {
  const double target = train_target(answer.options, answer.corpus);
  report::Table table{
      {"placement", "layers", "forecast", "as forecast", "converged", "verdicts", "perplexity",
       "standard error", "final loss", "standard error", fmt::format("steps to {:.4g}", target)},
      {}};
  for (const TrainCell& cell : cells) {
    const ForecastShare share = forecast_share(cell, answer.runs);
    table.rows.push_back({cell.group, cell.layers, share.value(), share.share(),
                          fmt::format("{}/{}", cell.converged, cell.runs),
                          fmt::format("{}", fmt::join(cell.verdicts, " ")), cell.perplexity,
                          known(cell.perplexity_error), cell.loss, known(cell.loss_error),
                          known(cell.steps_to_target)});
  }
  if (are_finetuned(answer.runs)) leave_out({"forecast", "as forecast"}, table);
  return table;
}

/// Of the first seed: what the moment rules say before training, and what its first step measured.
report::Table first_step(const std::vector<TrainRun>& runs, std::uint64_t seed) {
  report::Table table{{"placement", "layers", "predicted norm", "measured norm", "blocks from",
                       "measured", "to", "measured", "predicted loss change"},
                      {}};
  for (const TrainRun& run : runs) {
    if (run.seed != seed) continue;
    const Range predicted = blocks_of(run.prediction.gradient);
    const Range measured = run.records.empty() ? Range{} : blocks_of(run.records.front().gradient);
    table.rows.push_back({run.group, run.layers, known(run.prediction.gradient.total),
                          known(measured_gradient(run)), known(predicted.least),
                          known(measured.least), known(predicted.most), known(measured.most),
                          known(-run.prediction.loss_change)});
  }
  if (!are_finetuned(runs)) return table;
  table.columns = {"placement", "layers", "norm", "blocks from", "to"};
  for (auto& row : table.rows) row = {row[0], row[1], row[3], row[5], row[7]};
  return table;
}

report::Facts text_facts(const Corpus& corpus) {
  report::Facts facts;
  facts.rows = {{"text", corpus.name + ": " + corpus.description + " (" + corpus.license + ")"},
                {"words", corpus.vocab()},
                {"entropy of single words",
                 fmt::format("{:.4f} nats: perplexity {:.2f}", corpus.unigram_entropy,
                             std::exp(corpus.unigram_entropy))}};
  if (corpus.bytes_per_token > 0)
    facts.rows.push_back(
        {"bytes a token",
         fmt::format(
             "{:.3f} in validation{}", corpus.bytes_per_token,
             corpus.unknown > 0
                 ? fmt::format(", where {:.1f}% are unknown words, of whose letters nothing "
                               "is guessed: perplexities per byte are too low",
                               100 * corpus.unknown)
                 : "")});
  if (corpus.bytes_per_token <= 0 && corpus.unknown > 0)
    facts.rows.push_back(
        {"unknown words", fmt::format("{:.1f}% of validation", 100 * corpus.unknown)});
  if (corpus.entropy) {
    facts.rows.push_back(
        {"entropy of the text", fmt::format("{:.4f} nats: no perplexity below {:.2f}",
                                            *corpus.entropy, std::exp(*corpus.entropy))});
  }
  return facts;
}

}  // namespace

void leave_out(const std::vector<std::string>& columns, report::Table& table) {
  for (const std::string& column : columns) {
    const auto found = std::ranges::find(table.columns, column);
    if (found == table.columns.end()) continue;
    const auto at = found - table.columns.begin();
    table.columns.erase(found);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

std::set<std::string> remarks_of(const std::vector<TrainRun>& runs) {
  std::set<std::string> remarks;
  for (const TrainRun& run : runs)
    if (!run.remark.empty()) remarks.insert(run.remark);
  return remarks;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"constant", "linear", "cosine", "inverse_sqrt"};
  return names;
}

void add_per_byte(double bytes_per_token, double loss, Value& entry) {
  if (bytes_per_token > 0)
    entry["perplexity_per_byte"] = perplexity_per_byte(loss, bytes_per_token);
}

void add_per_byte(double bytes_per_token, const std::vector<TrainCell>& cells,
                  report::Table& table) {
  if (bytes_per_token <= 0) return;
  table.columns.emplace_back("per byte");
  for (std::size_t i = 0; i < cells.size(); ++i)
    table.rows[i].push_back(known(perplexity_per_byte(cells[i].loss, bytes_per_token)));
}

report::Value cell_value(const TrainCell& cell) {
  Value entry = Value::object();
  entry["placement"] = cell.group;
  entry["layers"] = cell.layers;
  entry["runs"] = cell.runs;
  entry["converged"] = cell.converged;
  entry["verdicts"] = list_of_items(cell.verdicts);
  entry["final_loss"] = cell.loss;
  entry["final_loss_standard_error"] = cell.loss_error;
  entry["perplexity"] = cell.perplexity;
  entry["perplexity_standard_error"] = cell.perplexity_error;
  entry["reached_target"] = cell.reached;
  entry["steps_to_target"] = cell.steps_to_target;
  return entry;
}

report::Value differences_value(const std::vector<GroupDifference>& differences) {
  Value list = Value::array();
  for (const GroupDifference& difference : differences) {
    Value entry = Value::object();
    entry["placement"] = difference.group;
    entry["key"] = difference.key;
    entry["value"] = difference.value;
    entry["reference"] = difference.reference;
    list.push_back(entry);
  }
  return list;
}

report::Table difference_table(const std::vector<GroupDifference>& differences) {
  report::Table table{{"placement", "key", "value", "instead of"}, {}};
  for (const GroupDifference& difference : differences) {
    table.rows.push_back(
        {difference.group, difference.key, difference.value, difference.reference});
  }
  return table;
}

/// Of --grid: no placements are compared.
static report::Document grid_document(const TrainAnswer& answer) {
  report::Document document;
  document.command = "train";
  document.inputs = inputs_of(answer);
  for (const char* name : {"runs", "cells", "differences"}) document.results[name] = Value::array();
  document.results["tuning"] = tuning_value(*answer.tuned);
  document.results["corpus"] = corpus_value(answer.corpus);
  document.rows = tuning_rows(*answer.tuned);
  document.sections = tuning_sections(*answer.tuned);
  document.sections.push_back({"Text", text_facts(answer.corpus)});
  return document;
}

static BestAnswer best_answer(const TrainAnswer& answer) {
  BestAnswer best{{}, best_of_grid(answer.runs), answer.corpus.vocab()};
  for (const GridAxis& axis : answer.axes) best.keys.push_back(axis.key);
  best.rates = best_rate_laws(best.cells, answer.options.optimizer,
                              [&answer](const std::string& group, std::int64_t layers) {
                                return train_model(answer.options, train_group(group), layers,
                                                   answer.corpus);
                              });
  return best;
}

report::Figure train_figure(const TrainAnswer& answer) {
  if (answer.tuned) return {"The best number by size", tuning_plots(*answer.tuned)};
  if (!answer.axes.empty()) return {"Each placement at its best", best_plots(best_answer(answer))};
  const Corpus& corpus = answer.corpus;
  return train_figure(TrainedRuns{answer.runs, corpus.vocab(), corpus.unigram_entropy,
                                  corpus.entropy.value_or(std::nan(""))});
}

/// Of --grid with several placements.
static report::Document best_document(const TrainAnswer& answer) {
  const BestAnswer best = best_answer(answer);
  report::Document document;
  document.command = "train";
  document.inputs = inputs_of(answer);
  for (const char* name : {"runs", "cells"}) document.results[name] = Value::array();
  document.results["differences"] = differences_value(answer.differences);
  document.results["best"] = best_value(best);
  document.results["best_rates"] = rates_value(best);
  document.results["corpus"] = corpus_value(answer.corpus);
  document.rows = best_rows(best);
  document.sections = best_sections(best);
  add_scores(answer.runs, document);
  document.sections.push_back({"Text", text_facts(answer.corpus)});
  document.sections.push_back(
      {"All that differs between the placements, from " + answer.options.groups.front(),
       difference_table(answer.differences)});
  return document;
}

/// Of drawn weights what the rules say beforehand, of trained ones what they knew before.
static report::Section expectation(const TrainAnswer& answer, const std::vector<TrainCell>& cells) {
  if (!are_finetuned(answer.runs)) return {"What was to be expected", forecast_table(answer.runs)};
  return finetuned_section(answer.runs, finetuned_cells(answer.runs, cells));
}

report::Document train_document(const TrainAnswer& answer) {
  if (answer.tuned) return grid_document(answer);
  if (!answer.axes.empty()) return best_document(answer);
  const std::vector<TrainCell> cells = train_table(answer.runs);
  report::Table table = outcome(answer, cells);
  add_per_byte(answer.corpus.bytes_per_token, cells, table);
  table.curves = loss_curves(cells, answer.runs);
  report::Document document;
  document.command = "train";
  document.inputs = inputs_of(answer);
  document.results["runs"] = runs_value(answer.runs);
  document.results["cells"] = cells_value(answer, cells);
  document.results["differences"] = differences_value(answer.differences);
  if (are_finetuned(answer.runs))
    document.results["finetuning"] = finetuned_value(finetuned_cells(answer.runs, cells));
  document.results["corpus"] = corpus_value(answer.corpus);
  document.rows.columns = {"placement",  "layers",     "seed",  "verdict",
                           "final_loss", "perplexity", "steps", "steps_to_target"};
  for (const TrainRun& run : answer.runs) {
    document.rows.rows.push_back({run.group, run.layers, static_cast<std::int64_t>(run.seed),
                                  to_string(run.verdict), run.final_loss, run.perplexity, run.steps,
                                  run.steps_to_target ? Value(*run.steps_to_target) : Value()});
  }
  document.sections = {
      {fmt::format("Placement experiment: {} steps, {} seeds",
                   train_steps(answer.options, answer.corpus), answer.options.seeds),
       std::move(table)},
      {"Text", text_facts(answer.corpus)},
      {fmt::format("Gradients at the first step, seed {}", answer.options.seed),
       first_step(answer.runs, answer.options.seed)},
      expectation(answer, cells),
      {"All that differs between the placements, from " + answer.options.groups.front(),
       difference_table(answer.differences)}};
  add_scores(answer.runs, document);
  return document;
}

}  // namespace scalecalc::cli
