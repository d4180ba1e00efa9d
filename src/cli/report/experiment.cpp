#include "cli/report/experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "cli/report/course.hpp"
#include "cli/train/document.hpp"
#include "cli/train/figures.hpp"
#include "cli/train/finetuning.hpp"
#include "cli/train/forecast.hpp"

namespace scalecalc::cli {
namespace {

using report::Facts;
using report::known;
using report::Table;
using report::Value;

constexpr char kSaid[] =
    "Of Post-Norm and Pre-Norm, at the least and at the largest depth here. Alike, worse and more "
    "are by two standard errors over the seeds. It holds under the learning rate and the warm-up "
    "of these runs alone.";
constexpr char kCourse[] =
    "Training loss: the mean over the steps since the record before the last. Rises: all that the "
    "validation loss rose from one record to the next, added up; 0 nats of one that only falls. "
    "Its batches are the same at each record: no draw of them is in it. Norms: from the least to "
    "the most over seeds and records.";

constexpr char kPredicted[] =
    "Predicted by the moment rules before anything is trained; measured at the first step, over "
    "the seeds.";
constexpr char kMeasuredOnly[] =
    "Measured, over the seeds. The weights are trained, and the moment rules are of drawn ones: "
    "nothing is predicted.";
constexpr char kForecast[] =
    "Forecast from what is known before the first step; as forecast above are the runs that "
    "converged, or did not, accordingly.";

/// "0.003", or of a mixture "0.02+0.003".
std::string of_each(const OptimizerOptions& optimizer, double OptimizerOptions::*member) {
  std::string text = report::format_number(optimizer.*member);
  for (const OptimizerOptions& rest : optimizer.rest)
    text += "+" + report::format_number(rest.*member);
  return text;
}

TrainedRuns trained_runs(const TrainFolder& folder) {
  return {folder.runs, folder.vocab, folder.unigram_entropy, folder.entropy};
}

/// "2/2 converged", "0/2 converged: vanishing, stall; 1 unfinished, at step 40 of 100".
std::string outcome_of(const TrainFolder& folder, const TrainCell& cell) {
  int converged = 0, finished = 0, unfinished = 0;
  std::int64_t least = folder.steps;
  std::vector<std::string> failures;
  for (std::size_t i = 0; i < folder.runs.size(); ++i) {
    const TrainRun& run = folder.runs[i];
    if (run.group != cell.group || run.layers != cell.layers) continue;
    if (!folder.finished[i]) {
      ++unfinished;
      least = std::min(least, run.steps);
      continue;
    }
    ++finished;
    if (run.verdict == TrainVerdict::converged) {
      ++converged;
    } else {
      failures.push_back(to_string(run.verdict));
    }
  }
  std::string text;
  if (finished > 0) text = fmt::format("{}/{} converged", converged, finished);
  if (!failures.empty()) text += fmt::format(": {}", fmt::join(failures, ", "));
  if (unfinished == 0) return text;
  return text + fmt::format("{}{} unfinished, at step {} of {}", text.empty() ? "" : "; ",
                            unfinished, least, folder.steps);
}

std::string steps_column(double target) {
  return std::isnan(target) ? "steps to the target" : fmt::format("steps to {:.4g}", target);
}

/// "40", or "40 (1/3)" where not every run came there.
Value steps_of(const TrainCell& cell) {
  if (std::isnan(cell.steps_to_target)) {
    return cell.reached == 0 ? Value() : Value(fmt::format("- ({}/{})", cell.reached, cell.runs));
  }
  if (cell.reached == cell.runs) return cell.steps_to_target;
  return fmt::format("{} ({}/{})", report::format_number(cell.steps_to_target), cell.reached,
                     cell.runs);
}

std::vector<TrainRun> finished_runs(const TrainFolder& folder) {
  std::vector<TrainRun> runs;
  for (std::size_t i = 0; i < folder.runs.size(); ++i)
    if (folder.finished[i]) runs.push_back(folder.runs[i]);
  return runs;
}

/// Nothing where no run has ended.
Table outcome_table(const ReportAnswer& answer, const std::vector<TrainCell>& cells) {
  Table table{{"placement", "layers", "outcome", "as forecast", steps_column(answer.target_loss),
               "perplexity", "standard error"},
              {}};
  const std::vector<TrainRun> ended = finished_runs(answer.trained);
  for (const TrainCell& cell : cells) {
    const ForecastShare share = forecast_share(cell, ended);
    table.rows.push_back({cell.group, cell.layers, outcome_of(answer.trained, cell), share.share(),
                          steps_of(cell), known(cell.perplexity), known(cell.perplexity_error)});
  }
  if (are_finetuned(answer.trained.runs)) leave_out({"as forecast"}, table);
  add_per_byte(answer.trained.bytes_per_token, cells, table);
  table.curves = loss_curves(cells, answer.trained.runs);
  return table;
}

struct GradientCell {
  std::string group;
  std::int64_t layers = 0;
  double predicted = 0;
  MeanOf measured;
  std::string why_none;
};
std::vector<GradientCell> gradients_of(const TrainFolder& folder,
                                       const std::vector<TrainCell>& cells) {
  std::vector<GradientCell> gradients;
  for (const TrainCell& cell : cells) {
    GradientCell gradient{cell.group, cell.layers, std::nan(""), {}, {}};
    std::vector<double> totals;
    for (const TrainRun& run : folder.runs) {
      if (run.group != cell.group || run.layers != cell.layers) continue;
      gradient.predicted = run.prediction.gradient.total;
      gradient.why_none = run.prediction.why_none;
      if (!run.records.empty()) totals.push_back(run.records.front().gradient.total);
    }
    gradient.measured = mean_of(totals);
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

Table gradient_table(const std::vector<GradientCell>& gradients, bool is_finetuned) {
  Table table{{"placement", "layers", "predicted norm", "measured norm", "standard error",
               "measured / predicted"},
              {}};
  for (const GradientCell& cell : gradients) {
    table.rows.push_back({cell.group, cell.layers, known(cell.predicted),
                          known(cell.measured.value), known(cell.measured.error),
                          known(cell.measured.value / cell.predicted)});
  }
  if (is_finetuned) leave_out({"predicted norm", "measured / predicted"}, table);
  return table;
}

std::string title_of(const TrainFolder& folder) {
  std::vector<std::string> groups;
  std::vector<std::int64_t> depths;
  for (const TrainRun& run : folder.runs) {
    if (std::ranges::find(groups, run.group) == groups.end()) groups.push_back(run.group);
    if (std::ranges::find(depths, run.layers) == depths.end()) depths.push_back(run.layers);
  }
  std::ranges::sort(depths);
  return fmt::format("Placement experiment: {} at {} {}", fmt::join(groups, ", "),
                     fmt::join(depths, ", "),
                     depths.size() == 1 && depths[0] == 1 ? "block" : "blocks");
}

/// "96 of 120 finished".
std::string finished_text(const TrainFolder& folder) {
  return fmt::format("{} of {} finished", std::ranges::count(folder.finished, true),
                     folder.runs.size());
}

Facts run_facts(const ReportAnswer& answer) {
  const TrainFolder& folder = answer.trained;
  const OptimizerOptions& optimizer = folder.optimizer;
  Facts facts;
  facts.rows = {
      {"folder", base::shortened(answer.folder)},
      {"runs", finished_text(folder)},
      {"steps of a run", folder.steps},
      {"recorded every", fmt::format("{} steps, on {} batches of validation", folder.record_every,
                                     folder.validation_batches)},
      {folder.tuning.empty() ? "optimizer" : "optimizer of the first run",
       fmt::format("{}: learning rate {}, {}{}, weight decay {}{}", optimizer_text(optimizer),
                   of_each(optimizer, &OptimizerOptions::learning_rate),
                   schedule_names()[static_cast<std::size_t>(optimizer.schedule.kind)],
                   optimizer.schedule.warmup > 0
                       ? fmt::format(" after {} steps of warm-up", optimizer.schedule.warmup)
                       : " without a warm-up",
                   of_each(optimizer, &OptimizerOptions::weight_decay),
                   optimizer.clip_norm > 0
                       ? ", gradients clipped to " + report::format_number(optimizer.clip_norm)
                       : "")},
      {"text", folder.description.empty()
                   ? folder.text
                   : folder.text + ": " + folder.description + " (" + folder.license + ")"},
      {"tokens", fmt::format("{}, of {} different words{}", folder.tokens, folder.vocab,
                             folder.unknown > 0 ? fmt::format("; {:.1f}% of validation are <unk>",
                                                              100 * folder.unknown)
                                                : "")}};
  if (are_finetuned(folder.runs)) facts.rows.push_back({"begun with", start_text(folder.runs)});
  const auto entropy = [&facts](const char* name, double value) {
    if (std::isnan(value)) return;
    facts.rows.push_back(
        {name, fmt::format("{:.4f} nats: perplexity {:.2f}", value, std::exp(value))});
  };
  entropy("entropy of single words", folder.unigram_entropy);
  entropy("entropy of the text", folder.entropy);
  return facts;
}

/// The model file, a key a row.
Facts model_facts(const std::string& text) {
  Facts facts;
  for (const auto& [key, value] : model_entries(text)) facts.rows.push_back({key, value});
  return facts;
}

/// What the words of the table mean.
Facts verdict_facts(bool is_finetuned) {
  Facts facts;
  facts.rows = {{"converged",
                 "the validation loss ended at least a twentieth below the entropy of single "
                 "words: context is used"},
                {"stall", "it did not"},
                {"vanishing", "nor did it, and the gradient in some block ended below 0.001"},
                {"explosion", "the gradient ended above 1000, or the loss a tenth above a guess's"},
                {"nan", "the loss is no number"},
                {"as forecast", "runs that converged, or did not, as was to be expected (below)"},
                {"perplexity",
                 "of the validation text at the end: the mean over seeds, with its standard "
                 "error"},
                {"steps",
                 "to the first record at or below that validation loss: the median over seeds, "
                 "those that did not come there being the slowest"}};
  if (is_finetuned)
    std::erase_if(facts.rows, [](const auto& row) { return row.first == "as forecast"; });
  return facts;
}

/// What is said of placements is said of training from the start.
Table said_of(const TrainFolder& folder, const std::vector<TrainCell>& cells,
              const std::vector<CourseCell>& courses) {
  return are_finetuned(folder.runs) ? Table{} : said_table(folder, cells, courses);
}

/// What the reports of placements and of a grid begin with.
report::Document opened_document(const ReportAnswer& answer) {
  const TrainFolder& folder = answer.trained;
  report::Document document;
  document.command = "report";
  document.inputs["folder"] = base::shortened(answer.folder);
  document.inputs["target_loss"] = known(answer.target_loss);
  document.results["steps"] = folder.steps;
  document.results["runs"] = static_cast<std::int64_t>(folder.runs.size());
  document.results["finished"] =
      static_cast<std::int64_t>(std::ranges::count(folder.finished, true));
  return document;
}

/// Of train --grid: no placements are compared.
report::Document tuning_document(const ReportAnswer& answer) {
  report::Document document = opened_document(answer);
  for (const char* name : {"cells", "gradients", "courses", "differences"})
    document.results[name] = Value::array();
  document.results["tuning"] = tuning_value(*answer.tuned);
  document.rows = tuning_rows(*answer.tuned);
  document.sections = tuning_sections(*answer.tuned);
  return document;
}

/// Of train --grid with several placements.
report::Document best_document(const ReportAnswer& answer) {
  report::Document document = opened_document(answer);
  for (const char* name : {"cells", "gradients", "courses"})
    document.results[name] = Value::array();
  document.results["differences"] = differences_value(answer.trained.differences);
  document.results["best"] = best_value(*answer.best);
  document.results["best_rates"] = rates_value(*answer.best);
  document.rows = best_rows(*answer.best);
  document.sections = best_sections(*answer.best);
  add_scores(finished_runs(answer.trained), document);
  return document;
}

report::Page best_page(const ReportAnswer& answer) {
  report::Page page{"Placements, each at its best", {}};
  for (report::Section& section : best_sections(*answer.best))
    page.parts.emplace_back(std::move(section));
  for (const report::Plot& plot : best_plots(*answer.best)) page.parts.emplace_back(plot);
  add_scores(finished_runs(answer.trained), page);
  page.parts.emplace_back(report::Section{"All that differs between the placements",
                                          difference_table(answer.trained.differences)});
  page.parts.emplace_back(report::Section{"What was run", run_facts(answer)});
  page.parts.emplace_back(
      report::Section{"The model of the first run", model_facts(answer.trained.model)});
  return page;
}

report::Page tuning_page(const ReportAnswer& answer) {
  report::Page page{"The best " + answer.tuned->setup.keys.front() + " by size", {}};
  for (const report::Plot& plot : tuning_plots(*answer.tuned)) page.parts.emplace_back(plot);
  for (report::Section& section : tuning_sections(*answer.tuned))
    page.parts.emplace_back(std::move(section));
  page.parts.emplace_back(report::Section{"What was run", run_facts(answer)});
  page.parts.emplace_back(
      report::Section{"The model of the first run", model_facts(answer.trained.model)});
  return page;
}

}  // namespace

BestAnswer best_answer(const TrainFolder& folder) {
  BestAnswer best{placement_grid_keys(folder), best_of_grid(finished_runs(folder)), folder.vocab};
  best.rates = best_rate_laws(best.cells, folder.optimizer,
                              [&folder](const std::string& group, std::int64_t layers) {
                                return parse_model(folder.models.at({group, layers}), group);
                              });
  return best;
}

report::Figure report_figure(const ReportAnswer& answer) {
  if (answer.best) return {"Each placement at its best", best_plots(*answer.best)};
  if (answer.tuned) return {"The best number by size", tuning_plots(*answer.tuned)};
  return train_figure(trained_runs(answer.trained));
}

report::Document report_document(const ReportAnswer& answer) {
  if (answer.best) return best_document(answer);
  if (answer.tuned) return tuning_document(answer);
  const TrainFolder& folder = answer.trained;
  const std::vector<TrainCell> cells = train_table(folder.runs);
  const std::vector<GradientCell> gradients = gradients_of(folder, cells);
  report::Document document = opened_document(answer);
  Value cell_list = Value::array();
  const std::vector<TrainRun> ended = finished_runs(folder);
  const bool is_finetuned = are_finetuned(folder.runs);
  const std::vector<FinetunedCell> finetuned = finetuned_cells(ended, cells);
  for (const TrainCell& cell : cells) {
    Value entry = cell_value(cell);
    if (!is_finetuned) {
      const ForecastShare share = forecast_share(cell, ended);
      entry["forecast"] = share.word();
      entry["forecast_probability"] = share.value();
      entry["as_forecast"] = share.agree;
    }
    add_per_byte(folder.bytes_per_token, cell.loss, entry);
    cell_list.push_back(entry);
  }
  document.results["cells"] = cell_list;
  Value list = Value::array();
  for (const GradientCell& cell : gradients) {
    Value entry = Value::object();
    entry["placement"] = cell.group;
    entry["layers"] = cell.layers;
    entry["predicted"] = cell.predicted;
    entry["measured"] = cell.measured.value;
    entry["measured_standard_error"] = cell.measured.error;
    if (!cell.why_none.empty()) entry["no_prediction"] = cell.why_none;
    list.push_back(entry);
  }
  document.results["gradients"] = list;
  const std::vector<CourseCell> courses = courses_of(folder.runs, cells);
  document.results["courses"] = courses_value(courses);
  document.results["differences"] = differences_value(folder.differences);
  if (is_finetuned) document.results["finetuning"] = finetuned_value(finetuned);
  document.rows = outcome_table(answer, cells);
  document.sections = {
      {title_of(folder), document.rows},
      {"Over the steps", course_table(courses)},
      {"Gradients at the first step", gradient_table(gradients, is_finetuned)},
      is_finetuned ? finetuned_section(folder.runs, finetuned)
                   : report::Section{"What was to be expected", forecast_table(folder.runs)},
      {"All that differs between the placements", difference_table(folder.differences)}};
  if (const report::Table scales = scales_table(folder.runs, cells); !scales.rows.empty())
    document.sections.insert(document.sections.begin() + 2,
                             {"Trained scalars of branches at the end", scales});
  if (const Table said = said_of(folder, cells, courses); !said.rows.empty())
    document.sections.insert(document.sections.begin() + 2, {"What is said, and what came", said});
  add_scores(ended, document);
  return document;
}

report::Page report_page(const ReportAnswer& answer) {
  if (answer.best) return best_page(answer);
  if (answer.tuned) return tuning_page(answer);
  const TrainFolder& folder = answer.trained;
  const TrainedRuns trained = trained_runs(folder);
  const std::vector<TrainCell> cells = train_table(folder.runs);
  report::Page page{title_of(folder), {}};
  const auto add = [&page](report::Section section) { page.parts.push_back(std::move(section)); };
  const auto draw = [&page](const std::vector<report::Plot>& plots) {
    page.parts.insert(page.parts.end(), plots.begin(), plots.end());
  };
  add({"Outcome", outcome_table(answer, cells)});
  const bool is_finetuned = are_finetuned(folder.runs);
  add({"", verdict_facts(is_finetuned)});
  draw(perplexity_plots(trained));
  if (is_finetuned) {
    add(finetuned_section(folder.runs, finetuned_cells(finished_runs(folder), cells)));
    add({"", report::Paragraph{kForgotten}});
    draw(pretraining_plots(trained));
  }
  const std::vector<CourseCell> courses = courses_of(folder.runs, cells);
  if (const Table said = said_of(folder, cells, courses); !said.rows.empty()) {
    add({"What is said, and what came", said});
    add({"", report::Paragraph{kSaid}});
  }
  add({"Loss", report::Paragraph{"Of the validation text, without dropout."}});
  draw(loss_plots(trained));
  add({"", report::Paragraph{"Of training, with dropout."}});
  draw(training_loss_plots(trained));
  add({"Over the steps", course_table(courses)});
  add({"", report::Paragraph{kCourse}});
  draw(norm_plots(trained));
  add({is_finetuned ? "Gradients at the first step"
                    : "Gradients at the first step, predicted and measured",
       gradient_table(gradients_of(folder, cells), is_finetuned)});
  add({"", report::Paragraph{is_finetuned ? kMeasuredOnly : kPredicted}});
  draw(gradient_plots(trained));
  add({"Gradients by layer over the steps",
       report::Paragraph{"Of each placement and depth, from the first step to the last."}});
  draw(profile_plots(trained));
  if (const Table scales = scales_table(folder.runs, cells); !scales.rows.empty()) {
    add({"Trained scalars of branches at the end", scales});
    add({"", report::Paragraph{"The mean of their sizes, and the least and the most of them, over "
                               "branches and seeds."}});
    draw(scale_plots(trained));
  }
  if (!is_finetuned) {
    add({"What was to be expected", forecast_table(folder.runs)});
    add({"", report::Paragraph{kForecast}});
    add_scores(finished_runs(folder), page);
  }
  add({"All that differs between the placements", difference_table(folder.differences)});
  add({"", report::Paragraph{"Every key of the model files that is not the same in all placements, "
                             "from the logs of the runs themselves; all else is equal."}});
  add({"What was run", run_facts(answer)});
  add({"The model of the first placement", model_facts(folder.model)});
  return page;
}

}  // namespace scalecalc::cli
