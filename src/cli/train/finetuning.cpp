#include "cli/train/finetuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "cli/train/document.hpp"
#include "cli/train/panels.hpp"

namespace scalecalc::cli {
namespace {

using report::known;

constexpr char kFinetune[] = "--finetune-from";

}  // namespace

void FinetuneFlags::add_to(CLI::App* app) {
  const Options add{app};
  add.flag("--keep-weights", keep, "that runs end with, for --finetune-from");
  add.text(kFinetune, from, types::folder(),
           "of an earlier train --keep-weights: each placement, depth and seed goes on with the "
           "weights of the same, on another --text");
}

void FinetuneFlags::apply_to(TrainOptions& options) const {
  options.keep_weights = keep;
  if (from.empty()) return;
  auto pretrained = std::make_shared<Pretrained>(read_pretrained(from));
  options.model = shared_model(*pretrained);
  options.groups.clear();
  options.depths.clear();
  options.seeds = 0;
  const auto add = [](auto& list, const auto& item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(item);
  };
  for (const PretrainedRun& run : pretrained->runs) {
    add(options.groups, run.group);
    add(options.depths, run.layers);
  }
  std::ranges::sort(options.depths);
  const auto has_seed = [&](std::uint64_t seed) {
    return std::ranges::find(pretrained->runs, seed, &PretrainedRun::seed) !=
           pretrained->runs.end();
  };
  while (has_seed(options.seed + static_cast<std::uint64_t>(options.seeds))) ++options.seeds;
  options.seeds = std::max(options.seeds, 1);
  options.pretrained = std::move(pretrained);
}

void FinetuneFlags::refuse_contradictions(const TuningFlags& tuning, const std::string& model,
                                          const std::string& vocab, const std::string& ramp) const {
  if (keep && tuning.is_given())
    throw Error(ErrorKind::usage, "the runs of a grid keep no weights", "--keep-weights",
                "train the best point again, without --grid");
  if (from.empty()) return;
  if (tuning.is_given())
    throw Error(ErrorKind::usage, "a grid begins with drawn weights", kFinetune,
                "leave --grid out, and give each --lr a folder of its own");
  const auto refuse = [](const char* option, const std::string& given, const char* what) {
    if (!given.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("{} that the weights of {} were trained with", what, kFinetune),
                  option, "leave it out");
  };
  refuse("--model", model, "the model is the one");
  refuse("--vocab", vocab, "the words are those");
  if (!ramp.empty())
    throw Error(ErrorKind::usage, "the ramp stays where that of --finetune-from has ended",
                "--ramp", "leave it out");
}

bool are_finetuned(const std::vector<TrainRun>& runs) {
  return !runs.empty() && runs.front().start.has_value();
}

std::string start_text(const std::vector<TrainRun>& runs) {
  const TrainStart& start = *runs.front().start;
  return fmt::format("the weights of {} steps on {}", start.steps, base::shortened(start.text));
}

std::vector<FinetunedCell> finetuned_cells(const std::vector<TrainRun>& runs,
                                           const std::vector<TrainCell>& cells) {
  std::vector<FinetunedCell> made;
  for (const TrainCell& cell : cells) {
    std::vector<double> before, after, forgotten, text_before, text_after, learned;
    for (const TrainRun& run : runs) {
      if (run.group != cell.group || run.layers != cell.layers) continue;
      if (!run.start || run.records.empty()) continue;
      const TrainRecord& last = run.records.back();
      const double now = last.pretraining_loss.value_or(std::nan(""));
      if (!std::isfinite(now) || !std::isfinite(last.validation_loss)) continue;
      before.push_back(run.start->pretraining_loss);
      after.push_back(now);
      forgotten.push_back(now - run.start->pretraining_loss);
      text_before.push_back(run.start->loss);
      text_after.push_back(last.validation_loss);
      learned.push_back(run.start->loss - last.validation_loss);
    }
    made.push_back({cell.group, cell.layers, static_cast<int>(before.size()), mean_of(before),
                    mean_of(after), mean_of(forgotten), mean_of(text_before), mean_of(text_after),
                    mean_of(learned)});
  }
  return made;
}

report::Section finetuned_section(const std::vector<TrainRun>& runs,
                                  const std::vector<FinetunedCell>& cells) {
  report::Table table{{"placement", "layers", "earlier text before", "after", "forgotten",
                       "standard error", "this text before", "after", "learned", "standard error"},
                      {}};
  for (const FinetunedCell& cell : cells)
    table.rows.push_back(
        {cell.group, cell.layers, known(cell.before.value), known(cell.after.value),
         known(cell.forgotten.value), known(cell.forgotten.error), known(cell.text_before.value),
         known(cell.text_after.value), known(cell.learned.value), known(cell.learned.error)});
  return {"Fine-tuned, from " + start_text(runs), std::move(table)};
}

report::Value finetuned_value(const std::vector<FinetunedCell>& cells) {
  report::Value list = report::Value::array();
  for (const FinetunedCell& cell : cells) {
    report::Value entry = report::Value::object();
    entry["placement"] = cell.group;
    entry["layers"] = cell.layers;
    entry["runs"] = cell.runs;
    entry["pretraining_loss_before"] = cell.before.value;
    entry["pretraining_loss_after"] = cell.after.value;
    entry["forgotten"] = cell.forgotten.value;
    entry["forgotten_standard_error"] = cell.forgotten.error;
    entry["loss_before"] = cell.text_before.value;
    entry["loss_after"] = cell.text_after.value;
    entry["learned"] = cell.learned.value;
    entry["learned_standard_error"] = cell.learned.error;
    list.push_back(entry);
  }
  return list;
}

Shape finetuned_shape() {
  using namespace shapes;
  const Shape some = number().or_null();
  return list(
      object({{"placement", text(), "what is compared"},
              {"layers", count(), "the depth"},
              {"runs", count(), "that have ended in a number; the means are over them"},
              {"pretraining_loss_before", some,
               "validation loss on the text of the weights, before the first step, nats"},
              {"pretraining_loss_after", some, "the same at the last record"},
              {"forgotten", some, "how much that rose, run by run"},
              {"forgotten_standard_error", some, "of that mean; null below two runs"},
              {"loss_before", some, "validation loss on this text, before the first step, nats"},
              {"loss_after", some, "the same at the last record"},
              {"learned", some, "how much that fell, run by run"},
              {"learned_standard_error", some, "of that mean; null below two runs"}}));
}

report::Value start_value(const TrainStart& start) {
  report::Value value = report::Value::object();
  value["text"] = start.text;
  value["steps"] = start.steps;
  value["final_loss"] = start.final_loss;
  value["loss"] = start.loss;
  value["pretraining_loss"] = start.pretraining_loss;
  return value;
}

Shape start_shape() {
  using namespace shapes;
  const Shape some = number().or_null();
  return object({{"text", text(), "that the weights were trained on"},
                 {"steps", count(), "of that training"},
                 {"final_loss", some, "of validation, that it ended with, nats"},
                 {"loss", some, "of validation on this text, before the first step, nats"},
                 {"pretraining_loss", some, "of validation on the earlier text, likewise"}});
}

namespace {

report::Plot pretraining_plot(const TrainedRuns& trained, const std::vector<std::string>& groups,
                              std::int64_t layers) {
  report::Plot plot = plot_over_steps();
  plot.title = "Loss on the text of pre-training, " + blocks_text(layers);
  plot.y.label = "validation loss";
  plot.y.unit = "nats a token";
  plot.y.most = kFarFromGuess * std::log(static_cast<double>(trained.vocab));
  plot.note = "One line a seed. Step 0: the weights as they were trained.";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string name = groups[i];
    for (const TrainRun* run : runs_of(trained, groups[i], layers)) {
      report::Series series{name, report::Origin::measured, {}, static_cast<int>(i), true};
      if (run->start) series.points.push_back({0, run->start->pretraining_loss});
      for (const TrainRecord& record : run->records)
        series.points.push_back(
            {static_cast<double>(record.step), record.pretraining_loss.value_or(std::nan(""))});
      plot.series.push_back(std::move(series));
      name.clear();
    }
  }
  return plot;
}

}  // namespace

std::vector<report::Plot> pretraining_plots(const TrainedRuns& trained) {
  return are_finetuned(trained.runs) ? by_depth(trained, pretraining_plot)
                                     : std::vector<report::Plot>{};
}

}  // namespace scalecalc::cli
