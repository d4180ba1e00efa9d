#include <filesystem>
#include <memory>

#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/report/experiment.hpp"
#include "cli/train/document.hpp"

namespace scalecalc::cli {
namespace {

struct ReportFlags {
  std::string folder, target_loss;
  PlotOption plot;
};

bool is_page(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".html" || extension == ".htm";
}

int run_report(const ReportFlags& flags, Context& context) {
  flags.plot.check();
  if (flags.folder.empty()) {
    throw Error(ErrorKind::usage, "DIR is missing", "scalecalc report",
                "give the folder that scalecalc train -o has filled");
  }
  double target = 0;
  if (!flags.target_loss.empty()) {
    target = parse_number("--target-loss", flags.target_loss, 1e-9, 1e6, "2.5");
  }
  ReportAnswer answer{flags.folder, 0, read_train(flags.folder, target)};
  if (!placement_grid_keys(answer.trained).empty())
    answer.best = best_answer(answer.trained);
  else if (!answer.trained.tuning.empty())
    answer.tuned = tuning_answer(answer.trained);
  answer.target_loss = train_target(answer.trained, target);
  for (const std::string& remark : remarks_of(answer.trained.runs)) context.note(remark);
  const report::Document document = report_document(answer);
  if (is_page(context.output_path())) {
    context.emit_text(report::to_html(report_page(answer)));
    context.emit_to_stdout(document);
  } else {
    context.emit(document);
  }
  if (flags.plot.is_given()) flags.plot.write(report_figure(answer));
  return 0;
}

}  // namespace

void register_report(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "report",
       .summary =
           "what a folder of train holds: a table, and with -o FILE.html a page with its plots",
       .examples = {"scalecalc train --depths 2 --placements pre --steps 20 --seeds 1 -o runs",
                    "scalecalc report runs -o runs.html"},
       .form = report_form,
       .uses = {.digits = true, .curves = true},
       .prepare =
           [&context] {
             context.take_extensions({".html", ".htm"});
           }},
      [&context, flags] { return run_report(*flags, context); });
  const Options add{command};
  add.text("folder", flags->folder, types::folder(), "that scalecalc train -o has filled");
  add.text("--target-loss", flags->target_loss, "L",
           "of validation, to count the steps to (default: what converged asks)");
  flags->plot.add_to(command);
}

}  // namespace scalecalc::cli
