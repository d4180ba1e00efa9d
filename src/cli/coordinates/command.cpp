#include <fmt/format.h>

#include <memory>
#include <tuple>
#include <utility>

#include "cli/app.hpp"
#include "cli/coordinates/document.hpp"
#include "cli/coordinates/measured.hpp"
#include "cli/model_options.hpp"
#include "cli/optimizer_option.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/transfer/sizes.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t kMostSteps = 1000, kMostSeeds = 10000;
constexpr int kSteps = 4, kSeeds = 4;

struct CoordinatesFlags {
  ModelArgument model;
  std::string widths, depths, optimizer, lr, parametrization, steps, seeds, measured;
  PlotOption plot;

  void add_to(CLI::App* app) {
    const Options add{app};
    model.add_to(app, "model", {"layers", "decoder_layers", "placement", "alpha", "lambda"});
    add.text("--widths", widths, "W,...", "the model's widths: 64,128,256 or 64:256:x2");
    add.text("--depths", depths, "N,...", "its layers: 2,4,8 or 2:8:x2");
    add.text("--optimizer", optimizer, {"OPTIMIZER", optimizer_names},
             "what steps, without decay; muon+adamw: hidden matrices by the first");
    add.text("--lr,--learning-rate", lr, "X",
             "at the first size, or of each of a mixture: 0.02+0.003 (default: what the "
             "optimizer's paper "
             "or code starts from)");
    add.text("--parametrization", parametrization, types::parametrization(),
             "how the numbers of the first size become those of the others: " +
                 alternatives(parametrization_names()) +
                 "; or a file of one (default: the model's own inits at each size, one rate)");
    add.text("--steps", steps, "N", fmt::format("on the same sample (default {})", kSteps));
    add.text("--seeds", seeds, "S", fmt::format("draws at each size (default {})", kSeeds));
    add.text(
        "--measured", measured, types::file(),
        "instead of all these: judge a table that was measured elsewhere, a CSV of site, width "
        "(or depth), step and rms (or mean_abs); - for one on standard input");
    plot.add_to(app);
  }
};

class Coordinates {
 public:
  Coordinates(const CoordinatesFlags& flags, Context& context) : flags_(flags), context_(context) {}

  CoordinatesAnswer run() {
    if (flags_.widths.empty() && flags_.depths.empty())
      throw Error(ErrorKind::usage, "the sizes are missing", "scalecalc coordinates",
                  "for example --widths 64,128,256 or --depths 2,4,8");
    if (flags_.optimizer.empty())
      throw Error(ErrorKind::usage, "--optimizer is missing", "scalecalc coordinates",
                  "for example --optimizer adamw");
    refuse_idle();
    answer_.model = flags_.model.model;
    answer_.parametrization = flags_.parametrization.empty() ? "own" : flags_.parametrization;
    const ModelSpec spec = flags_.model.spec("coordinates");
    const CoordinateOptions shared = options();
    add("--widths", flags_.widths, GrowthAxis::width, spec, shared);
    add("--depths", flags_.depths, GrowthAxis::depth, spec, shared);
    for (std::size_t i = 0; i < answer_.checks.size(); ++i) {
      CoordinateOptions& each = answer_.checks[i].options;
      set_progress(i, each);
      answer_.checks[i].check = coordinate_check(each);
    }
    return std::move(answer_);
  }

 private:
  /// Options that would change nothing.
  void refuse_idle() const {
    for (const auto& [field, own, other] : {std::tuple{"width", &flags_.widths, &flags_.depths},
                                            {"layers", &flags_.depths, &flags_.widths}})
      if (flags_.model.options.has(field) && !own->empty() && other->empty())
        throw Error(ErrorKind::usage, fmt::format("--{} and a list of the same are given", field),
                    fmt::format("--{}", field), "leave it out");
  }

  CoordinateOptions options() {
    CoordinateOptions made;
    const OptimizerOptions optimizer = read_optimizer("--optimizer", flags_.optimizer);
    made.optimizer = optimizer_text(optimizer);
    read_rates(optimizer, made);
    if (!flags_.parametrization.empty())
      made.parametrization = parametrization_from(flags_.parametrization);
    made.steps = count("--steps", flags_.steps, kSteps, kMostSteps);
    made.seeds = count("--seeds", flags_.seeds, kSeeds, kMostSeeds);
    context_.set_passes(made.passes);
    return made;
  }

  /// One for both of a mixture, or one for each, joined by + as the names are; what is not given is
  /// where each starts from.
  void read_rates(const OptimizerOptions& optimizer, CoordinateOptions& made) const {
    made.lr = optimizer.learning_rate;
    made.rest_lr = optimizer.rest.empty() ? optimizer.adamw_learning_rate
                                          : optimizer.rest.front().learning_rate;
    if (flags_.lr.empty()) return;
    const bool is_mixture = !optimizer.rest.empty() || optimizer.name == "muon";
    constexpr double least_lr = 1e-300, most_lr = 1e6;
    const auto rate = [&](const std::string& text) {
      return parse_number("--lr", text, least_lr, most_lr, is_mixture ? "0.02+0.003" : "1e-3");
    };
    const auto [first, second] =
        is_mixture ? each_of_two(flags_.lr) : std::pair(flags_.lr, flags_.lr);
    made.lr = rate(first);
    made.rest_lr = rate(second);
  }

  static int count(const char* option, const std::string& text, int otherwise, std::int64_t most) {
    return text.empty() ? otherwise : static_cast<int>(parse_integer(option, text, 1, most, "4"));
  }

  void add(const std::string& option, const std::string& text, GrowthAxis axis,
           const ModelSpec& spec, const CoordinateOptions& shared) {
    if (text.empty()) return;
    const std::vector<std::int64_t> sizes = parse_depths(option, text);
    if (sizes.size() < 2)
      throw Error(ErrorKind::input, option + " needs two sizes at least, to see what grows",
                  "got '" + text + "'", "for example " + option + " 64,128,256");
    CoordinateOptions each = shared;
    each.axis = axis;
    for (const std::int64_t size : sizes) {
      const double value = static_cast<double>(size);
      each.sizes.push_back({value, *sizes_from(option, {{axis, value}}, spec).base});
    }
    answer_.checks.push_back({each, {}});
  }

  void set_progress(std::size_t i, CoordinateOptions& options) {
    const Progress progress = context_.progress();
    if (!progress) return;
    const double count = static_cast<double>(answer_.checks.size());
    options.progress = [progress, i, count](double done) {
      return progress((static_cast<double>(i) + done) / count, "steps");
    };
  }

  const CoordinatesFlags& flags_;
  Context& context_;
  CoordinatesAnswer answer_;
};

/// Options of passes, which a table that was measured elsewhere has no use for.
void refuse_beside_measured(const CoordinatesFlags& flags) {
  for (const auto& [option, text] : {std::pair{"MODEL", &flags.model.model},
                                     {"--widths", &flags.widths},
                                     {"--depths", &flags.depths},
                                     {"--optimizer", &flags.optimizer},
                                     {"--lr", &flags.lr},
                                     {"--parametrization", &flags.parametrization},
                                     {"--steps", &flags.steps},
                                     {"--seeds", &flags.seeds}})
    if (!text->empty())
      throw Error(ErrorKind::usage, "--measured judges a table, and runs nothing", option,
                  "leave one of the two out");
  if (flags.model.options.any())
    throw Error(ErrorKind::usage, "--measured judges a table, and has no model",
                flags.model.options.given(), "leave it out");
}

int run_measured(const CoordinatesFlags& flags, Context& context) {
  refuse_beside_measured(flags);
  const MeasuredAnswer answer = judge_measured(flags.measured);
  context.emit(measured_document(answer));
  if (flags.plot.is_given()) context.draw(flags.plot, measured_figure(answer));
  return answer.holds() ? 0 : 1;
}

}  // namespace

void register_coordinates(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CoordinatesFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "coordinates",
       .summary = "how far the first steps move a model at several widths or depths, and which "
                  "number is wrong",
       .examples = {"scalecalc coordinates mlp-relu --layers 4 --widths 32,64,128 --optimizer "
                    "adamw --parametrization mup",
                    "scalecalc coordinates pre-ln-12 --width 32 --heads 2 --dropout 0 --depths "
                    "2,4,8 --optimizer sgd --parametrization complete-p"},
       .form = coordinates_form,
       .uses = kPasses},
      [&context, flags] {
        flags->plot.check();
        if (!flags->measured.empty()) return run_measured(*flags, context);
        const CoordinatesAnswer answer = Coordinates(*flags, context).run();
        context.emit(coordinates_document(answer));
        if (flags->plot.is_given()) context.draw(flags->plot, coordinates_figure(answer));
        return answer.holds() ? 0 : 1;
      });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
