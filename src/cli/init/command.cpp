#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/init/document.hpp"
#include "cli/init/library_document.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"
#include "cli/transfer/sizes.hpp"
#include "scalecalc/architectures.hpp"

namespace scalecalc::cli {
namespace {

/// json and csv are formats of the table, not code.
bool is_table(const std::string& target) {
  return target == "json" || target == "csv";
}

std::vector<std::string> known_targets() {
  std::vector<std::string> known = target_names();
  known.insert(known.end(), {"json", "csv"});
  return known;
}

struct InitFlags {
  ModelArgument model;
  std::string target, names, weights, dtype, transfer_from, parametrization, muon_scale;
  bool seedless = false;

  void add_to(CLI::App* app) {
    model.add_to(app);
    const Options add{app};
    add.text("--target", target, {"TARGET", known_targets},
             "write " + alternatives(known_targets()));
    add.axis("--names", names, types::naming(),
             "whose parameter names (scalecalc list names); hf: of the library that the model "
             "comes from");
    add.text("--weights", weights, types::file(), "draw them into a .safetensors file, by --seed");
    add.text("--dtype", dtype, {"DTYPE", {"f32", "f16", "bf16"}},
             "of --weights: f32, f16 or bf16 (default " + WeightOptions().dtype + ")");
    add.flag("--seedless", seedless, "code without a seed of its own");
    add.text("--transfer-from", transfer_from, "SIZES",
             "pytorch, flax, keras, c: from the numbers of the same model at these sizes "
             "(width=256,layers=4), with groups of parameters for --optimizer");
    add.text("--parametrization", parametrization, types::parametrization(),
             "of --transfer-from: " + alternatives(parametrization_names()) +
                 "; or a file of one (default: mup)");
    add.text("--muon-scale", muon_scale, {"SCALE", muon_scale_names()},
             "of --transfer-from: what your muon has in front of its step: " +
                 alternatives(muon_scale_names()) + " (default: none)");
  }
};

/// A table has one format. Code is a text of its own; hf's is JSON but of a config, and .txt says
/// nothing.
void check_target(const InitFlags& flags, Context& context) {
  if (flags.target.empty()) return;
  parse_choice("--target", flags.target, known_targets());
  if (!is_table(flags.target)) context.take_any_extension();
  const auto extension = format_of_path(context.output_path());
  const std::string output = "-o " + base::shortened(context.output_path());
  if (is_table(flags.target)) {
    const report::Format wanted = report::format_from(flags.target);
    if (context.is_format_given() && report::format_from(context.format_text()) != wanted)
      throw Error(ErrorKind::usage, "--target " + flags.target + " and another --format are given",
                  "--target " + flags.target, "keep one of the two");
    if (extension && *extension != wanted)
      throw Error(ErrorKind::usage, "--target " + flags.target + " does not go into this file",
                  output, "give -o the extension ." + flags.target);
    return;
  }
  if (context.is_format_given())
    throw Error(ErrorKind::usage, "--target " + flags.target + " is a text of its own", "--format",
                "leave one of the two out: without --target, --format json lists every parameter");
  const bool is_own =
      extension == report::Format::table ||
      (flags.target == "hf" && extension == report::Format::json && !is_config(flags.model.model));
  if (extension && !is_own)
    throw Error(ErrorKind::usage, "--target " + flags.target + " writes no such file", output,
                "give -o the extension of its language, or leave --target out for a table");
}

template <class Plan>
void draw_weights(const InitFlags& flags, const Plan& plan, const Context& context) {
  WeightOptions options;
  options.seed = context.seed();
  options.threads = context.threads();
  if (!flags.dtype.empty()) options.dtype = flags.dtype;
  Output(flags.weights, "--weights");
  write_weights(plan, flags.weights, options);
}

/// Options that do not go together.
void check_weights(const InitFlags& flags) {
  if (flags.weights.empty() && !flags.dtype.empty())
    throw Error(ErrorKind::usage, "--dtype belongs to --weights", "--dtype",
                "for example --weights out.safetensors --dtype bf16");
  if (!flags.weights.empty() && flags.seedless)
    throw Error(ErrorKind::usage, "--weights draws by a seed, and --seedless takes it away",
                "--seedless", "leave one of the two out");
}

/// Of a config: the library's own model, where nothing asks for the program's description of it.
/// None: the target, the names or the options do, or there is no config.
std::optional<LibraryPlan> library_plan_of(const InitFlags& flags,
                                           const std::optional<Target>& target) {
  const auto library = read_config_argument(flags.model.model);
  const bool is_code = target == Target::pytorch || target == Target::hf;
  if (!library || !flags.names.empty() || (target && !is_code)) return std::nullopt;
  if (!flags.model.options.any()) return library_plan(*library, flags.model.model);
  const ModelSpec changed = flags.model.spec("init");
  return library_plan(*library, flags.model.model, &changed);
}

void check_transfer(const InitFlags& flags) {
  if (flags.transfer_from.empty()) {
    for (const auto& [option, text] : {std::pair{"--parametrization", &flags.parametrization},
                                       {"--muon-scale", &flags.muon_scale}})
      if (!text->empty())
        throw Error(ErrorKind::usage, std::string(option) + " belongs to --transfer-from", option,
                    "for example --transfer-from width=256");
    return;
  }
  constexpr std::array targets = {"pytorch", "flax", "keras", "c"};
  if (std::ranges::find(targets, flags.target) == targets.end())
    throw Error(ErrorKind::usage, "--transfer-from writes code for pytorch, flax, keras or c",
                "--transfer-from",
                "add --target pytorch; scalecalc transfer has the numbers as a table");
  if (!flags.weights.empty())
    throw Error(ErrorKind::usage,
                "--weights draws the model's own init, and --transfer-from has "
                "another",
                "--weights", "leave one of the two out");
}

/// "from width 256 to 768 under mup, for adamw".
std::string words_of(const TransferSizes& sizes, const std::string& parametrization,
                     const std::string& optimizer) {
  std::string words;
  for (std::size_t i = 0; i < sizes.from.size(); ++i)
    words += fmt::format("{}from {} {} to {}", i > 0 ? ", " : "", to_string(sizes.from[i].first),
                         sizes.from[i].second, sizes.to[i].second);
  return fmt::format("{}, under {}, for {}", words, parametrization, optimizer);
}

NamedPlan transferred_from(const InitFlags& flags, NamedPlan plan) {
  const std::string option = "--transfer-from";
  const TransferSizes sizes =
      sizes_from(option, parse_sizes(option, flags.transfer_from), plan.spec);
  PlanTransfer transfer;
  transfer.base = *sizes.base;
  transfer.ratios = sizes.ratios;
  TransferProblem& problem = transfer.problem;
  const std::string& optimizer = plan.spec.optimizer;
  const std::string scale = flags.muon_scale.empty() ? "none" : flags.muon_scale;
  problem.optimizer = transfer_optimizer(optimizer, scale);
  if (!flags.muon_scale.empty() && !optimizer.starts_with("muon") &&
      optimizer.find("+muon") == std::string::npos)
    throw Error(ErrorKind::usage, "the optimizer is not muon", "--muon-scale",
                "leave it out, or take --optimizer muon+adamw");
  const std::string name = flags.parametrization.empty() ? "mup" : flags.parametrization;
  problem.parametrization = parametrization_from(name);
  problem.axes = axes_of(sizes);
  problem.model = transfer_model(plan.spec, problem.axes);
  transfer.words = words_of(sizes, name, optimizer);
  return transferred(std::move(plan), transfer);
}

int run_init(const InitFlags& flags, Context& context) {
  check_weights(flags);
  check_transfer(flags);
  std::optional<Target> target;
  if (is_table(flags.target))
    context.set_format(report::format_from(flags.target));
  else if (!flags.target.empty())
    target = target_from(flags.target);
  const std::optional<LibraryPlan> library =
      flags.transfer_from.empty() ? library_plan_of(flags, target) : std::nullopt;
  if (library && !flags.weights.empty()) draw_weights(flags, *library, context);
  ExportOptions options;
  if (!flags.seedless) options.seed = context.seed();
  options.command = "scalecalc init " + flags.model.given() + " --target " + flags.target;
  if (!flags.transfer_from.empty()) options.command += " --transfer-from " + flags.transfer_from;
  if (!flags.parametrization.empty())
    options.command += " --parametrization " + flags.parametrization;
  if (!flags.muon_scale.empty()) options.command += " --muon-scale " + flags.muon_scale;
  if (library && target) {
    context.emit_text(export_text(*library, options));
    return 0;
  }
  if (library && !library->changed) {
    context.emit(library_document(library->library, context.format()));
    return 0;
  }
  NamedPlan plan = named_plan(flags.model.spec("init"), flags.model.model, target, flags.names);
  if (!flags.transfer_from.empty()) plan = transferred_from(flags, std::move(plan));
  if (!library && !flags.weights.empty()) draw_weights(flags, plan, context);
  if (target)
    context.emit_text(export_text(plan, *target, options));
  else
    context.emit(init_document(plan, context.made_format()));
  return 0;
}

}  // namespace

void register_init(CLI::App& app, Context& context) {
  auto flags = std::make_shared<InitFlags>();
  CLI::App* command =
      add_command(app, context,
                  {.name = "init",
                   .summary = "how every parameter of a model starts, as code or a table",
                   .examples = {"scalecalc init gpt2 --target pytorch -o gpt2_init.py",
                                "scalecalc init mlp-relu --layers 12 --format csv"},
                   .form = init_form,
                   .uses = {.seed = true, .threads = true, .digits = true},
                   .prepare = [&context, flags] { check_target(*flags, context); },
                   .lists = Lists{.alone = {"--target", "--weights"},
                                  .parts = {{"parameters", {"std", "distribution"}},
                                            {"scales", {"value"}, {"factor", "of"}}}}},
                  [&context, flags] { return run_init(*flags, context); });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
