#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/figures.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/standard_input.hpp"
#include "cli/sweep/document.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::cli {
namespace {

const std::vector<std::string> kEngines = {"passes", "quadrature"};
const std::vector<std::string> kTypes = {"float", "double"};
const std::vector<std::string> kParameterSets = {"branch", "all"};

struct SweepFlags {
  std::string model, layers, widths, optimizer, constraint, eta;
  std::string quantity = "delta_loss";
  std::string parameters = "branch";
  std::string seeds = "8";
  std::string dtype = "double";
  std::string engine = "passes";
  ModelOptions scales, block;
  PlotOption plot;

  void add_to(CLI::App* app);
};

void SweepFlags::add_to(CLI::App* app) {
  const Options add{app};
  add.axis("model", model, types::model(),
           "a preset (scalecalc presets), a model file, or - for one on standard input; options "
           "override it");
  add.text("--layers", layers, "N,...",
           "depths: 2,8,32,128 or 2:128:x4; beside --widths one (default: the model's)");
  add.text(
      "--widths", widths, "W,...",
      "instead of depths: widths, 32,64,128 or 32:512:x2, ffn growing with them, heads staying");
  add.axis("--quantity", quantity, {"QUANTITY", quantity_names},
           "what is measured (scalecalc list quantities)");
  add.axis("--optimizer", optimizer, types::optimizer(),
           "what steps (scalecalc list families; default: the model's); muon+adamw: hidden "
           "matrices by the first, all else by the second; muon(ffn,o)+adamw: by role");
  scales.add_command_options(app, {"placement", "alpha", "lambda"});
  add.axis("--constraint", constraint, {"CONSTRAINT", {"symmetric"}},
           "symmetric, alpha=X or lambda=X, for auto");
  add.axis("--parameters", parameters, {"SET", kParameterSets},
           "branch (inside the residual branches) or all");
  add.axis("--seeds", seeds, "S", "independent draws at each depth");
  add.axis("--eta", eta, "E", "step of actual_delta_loss (default: small enough)");
  add.axis("--dtype", dtype, {"DTYPE", kTypes}, alternatives(kTypes));
  add.axis("--engine", engine, {"ENGINE", kEngines}, "passes, or quadrature for the prediction");
  plot.add_to(app);
  const ModelSpec defaults = default_spec(ModelSpec::Kind::transformer);
  block.add_command_options(app, {"decoder_layers"});
  block.add_to(app, {"ramp"}, &defaults);  // exponents are those of the end of a ramp
}

/// A missing option that has no default.
const std::string& required(const char* option, const std::string& text, const char* example) {
  if (!text.empty()) return text;
  throw Error(ErrorKind::usage, std::string(option) + " is missing", "scalecalc sweep",
              std::string("for example ") + option + " " + example);
}

class Sweep {
 public:
  Sweep(const SweepFlags& flags, Context& context) : flags_(flags) {
    const bool measured = parse_choice("--engine", flags.engine, kEngines) == "passes";
    options().engine = measured ? SweepEngine::passes : SweepEngine::quadrature;
    read_options(context);
    read_model();
    set_sizes();
    set_scales();
    options().progress = context.progress();
  }

  SweepAnswer run() {
    answer_.result = sweep(options());
    return std::move(answer_);
  }

 private:
  SweepOptions& options() { return answer_.options; }

  void read_options(Context& context) {
    if (!flags_.widths.empty()) options().widths = parse_depths("--widths", flags_.widths);
    if (flags_.widths.empty()) required("--layers", flags_.layers, "2,8,32,128");
    if (!flags_.layers.empty()) options().layers = parse_depths("--layers", flags_.layers);
    if (!flags_.widths.empty() && options().layers.size() > 1)
      throw Error(ErrorKind::usage, "--layers and --widths are both lists", "scalecalc sweep",
                  "give one depth beside --widths");
    options().quantity = quantity_from(flags_.quantity);
    options().seeds = static_cast<int>(parse_integer("--seeds", flags_.seeds, 1, 10000, "8"));
    options().single_precision = parse_choice("--dtype", flags_.dtype, kTypes) == "float";
    const bool all = parse_choice("--parameters", flags_.parameters, kParameterSets) == "all";
    options().parameters = all ? ParameterSet::all : ParameterSet::branch;
    if (!flags_.eta.empty()) {
      options().eta = parse_number("--eta", flags_.eta, 1e-300, 1e300, "1e-6");
    }
    context.set_passes(options());
  }

  void read_model() {
    ModelSpec& model = options().model;
    answer_.model = flags_.model;
    if (flags_.model.empty()) {
      set_placement(model);
      flags_.block.apply_to(model);
      answer_.optimizer = required("--optimizer", flags_.optimizer, "adam");
    } else {
      model = read_model_file();
      answer_.optimizer = flags_.optimizer.empty() ? model.optimizer : flags_.optimizer;
    }
    model.optimizer = answer_.optimizer;
    const Optimizer rule = optimizer(answer_.optimizer);
    options().update = rule.update;
    options().rest = rule.rest;
    answer_.optimizer = model.optimizer = rule.name;
    answer_.family = family_name(rule);
    set_placement(model);
  }

  void set_sizes() {
    if (options().widths.empty()) return;
    if (flags_.block.has("width"))
      throw Error(ErrorKind::usage, "--width and --widths are given", "scalecalc sweep",
                  "leave --width out");
    if (options().layers.empty()) options().layers = {options().model.layers};
  }

  void set_placement(ModelSpec& model) const {
    if (flags_.scales.has("placement")) model.placement = flags_.scales.placement();
  }

  ModelSpec read_model_file() const {
    ModelSpec model = read_model_argument(flags_.model);
    flags_.block.apply_to(model);
    GivenFields given;
    if (!flags_.layers.empty()) given.emplace("layers", "--layers");
    for (const char* scale : {"alpha", "lambda"})
      if (flags_.scales.has(scale)) given.emplace(scale, std::string("--") + scale);
    refuse_idle_fields(model, given);
    return model;
  }

  /// Options first, then the model file; what is still open is solved for.
  void set_scales() {
    ModelSpec& model = options().model;
    const bool solve =
        flags_.model.empty() || !flags_.constraint.empty() || flags_.scales.solves_pair();
    set_scale("--alpha", flags_.scales.text("alpha"), solve, model.alpha);
    set_scale("--lambda", flags_.scales.text("lambda"), solve, model.lambda);
    if (!flags_.constraint.empty() && (model.alpha || model.lambda)) {
      throw Error(ErrorKind::usage, "--constraint and --alpha or --lambda both close the equation",
                  "--constraint " + flags_.constraint, "give one of them");
    }
    if (!has_open_scales(model)) return;
    std::optional<Constraint> constraint;
    if (!flags_.constraint.empty()) constraint = Constraint::parse(flags_.constraint);
    model.layers = options().layers.back();
    answer_.constraint = solve_scales(model, constraint).constraint.to_string();
  }

  void set_scale(const char* option, const std::string& text, bool solve,
                 std::optional<Expr>& scale) {
    if (text.empty() ? solve : text == "auto") {
      scale.reset();
    } else if (!text.empty()) {
      scale = parse_formula(option, text, {"N"});
      check_positive(option, text, *scale);
    }
  }

  void check_positive(const char* option, const std::string& text, const Expr& scale) {
    for (std::int64_t depth : options().layers) {
      const double value = evaluate(scale, {{"N", static_cast<double>(depth)}});
      if (std::isfinite(value) && value > 0) continue;
      throw Error(ErrorKind::input,
                  fmt::format("{} must be positive and finite; it is {} at N = {}", option,
                              report::format_number(value), depth),
                  fmt::format("got '{}'", base::shortened(text)),
                  fmt::format("for example {} 1", option));
    }
  }

  const SweepFlags& flags_;
  SweepAnswer answer_;
};

}  // namespace

void register_sweep(CLI::App& app, Context& context) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "sweep",
       .summary = "a quantity by depth or width, of real passes or predicted, and its exponent",
       .examples = {"scalecalc sweep --layers 2,4,8 --optimizer adam --width 16 --heads 2",
                    "scalecalc sweep pre-ln-12 --layers 2:32:x4 --engine quadrature"},
       .form = sweep_form,
       .uses = kPassesAlongPaths,
       .runs_on = RunsOn::all,
       .lists = Lists{.parts = {{"points", {"value", "standard_error"}}}}},
      [&context, flags] {
        flags->plot.check();
        const SweepAnswer answer = Sweep(*flags, context).run();
        context.emit(sweep_document(answer));
        if (flags->plot.is_given()) context.draw(flags->plot, sweep_figure(answer));
        return 0;
      });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
