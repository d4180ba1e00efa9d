#include <memory>

#include "base/confidence.hpp"
#include "cli/app.hpp"
#include "cli/figures.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/verify/document.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t kMostSeeds = 10000;

struct VerifyFlags {
  ModelArgument model;
  std::string seeds = "16", confidence = "0.99";
  PlotOption plot;
  bool single = false;

  void add_to(CLI::App* app) {
    model.add_to(app);
    const Options add{app};
    add.axis("--seeds", seeds, "S", "draws of weights and inputs");
    add.axis("--confidence", confidence, "P", "that right predictions pass all together");
    plot.add_to(app);
    add.flag("--single", single, "passes in single precision");
  }
};

VerifyAnswer answer_to(const VerifyFlags& flags, Context& context) {
  VerifyAnswer answer;
  answer.model = flags.model.model;
  VerifyOptions& options = answer.options;
  options.seeds = static_cast<int>(parse_integer("--seeds", flags.seeds, 2, kMostSeeds, "64"));
  options.confidence = parse_number("--confidence", flags.confidence, base::least_confidence,
                                    base::most_confidence, "0.99");
  context.set_passes(options);
  options.single_precision = flags.single;
  answer.spec = flags.model.spec("verify");
  options.progress = context.progress();
  answer.verification = verify_network(build_network(answer.spec), options);
  return answer;
}

}  // namespace

void register_verify(CLI::App& app, Context& context) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "verify",
       .summary = "predicted moments beside those of real passes",
       .examples = {"scalecalc verify mlp-relu --layers 6",
                    "scalecalc verify pre-ln-12 --layers 2 --width 64 --heads 4 --ffn 128"},
       .form = verify_form,
       .uses = kPassesAlongPaths,
       .runs_on = RunsOn::all,
       .lists = Lists{.parts = {{"sites", {"predicted", "measured"}, {"path", "quantity"}}}}},
      [&context, flags] {
        flags->plot.check();
        const VerifyAnswer answer = answer_to(*flags, context);
        context.emit(verify_document(answer));
        if (flags->plot.is_given()) context.draw(flags->plot, verify_figure(answer));
        return answer.verification.passed ? 0 : 1;
      });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
