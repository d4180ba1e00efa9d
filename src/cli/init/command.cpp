#include <algorithm>
#include <memory>

#include "cli/app.hpp"
#include "cli/init/document.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

struct InitFlags {
  ModelArgument model;
  std::string target, names, weights, dtype;
  bool seedless = false;

  void add_to(CLI::App* app) {
    model.add_to(app);
    const Options add{app};
    add.text("--target", target, "T", "pytorch, flax, keras, megatron, hf, c, json or csv");
    add.text("--names", names, "NAMES", "whose parameter names (scalecalc list names)");
    add.text("--weights", weights, "FILE", "draw them into a .safetensors file, by --seed");
    add.text("--dtype", dtype, "D", "of --weights: f32 (default), f16 or bf16");
    add.flag("--seedless", seedless, "code without a seed of its own");
  }
};

/// One of the code targets; the message lists json and csv too.
Target chosen_target(const std::string& name) {
  std::vector<std::string> known = target_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return target_from(name);
  known.insert(known.end(), {"json", "csv"});
  throw unknown_name("target", name, known, "--target");
}

/// json and csv are formats of the table, not code.
void check_format(const std::string& target, const Context& context) {
  const report::Format wanted = report::format_from(target);
  if (!context.is_format_given() || context.format() == wanted) return;
  throw Error(ErrorKind::usage, "--target " + target + " and another --format are both given",
              "--target " + target, "keep one of the two");
}

void draw_weights(const InitFlags& flags, const NamedPlan& plan, const Context& context) {
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

int run_init(const InitFlags& flags, Context& context) {
  check_weights(flags);
  const bool is_table = flags.target == "json" || flags.target == "csv";
  if (is_table) {
    check_format(flags.target, context);
    context.set_format(report::format_from(flags.target));
  }
  std::optional<Target> target;
  if (!flags.target.empty() && !is_table) target = chosen_target(flags.target);
  const NamedPlan plan =
      named_plan(flags.model.spec("init"), flags.model.model, target, flags.names);
  if (!flags.weights.empty()) draw_weights(flags, plan, context);
  ExportOptions options;
  if (!flags.seedless) options.seed = context.seed();
  options.command = "scalecalc init " + flags.model.given() + " --target " + flags.target;
  const std::string code = target ? export_text(plan, *target, options) : std::string();
  if (target && !context.is_format_given()) {
    context.emit_text(code);
    return 0;
  }
  if (target && context.format() != report::Format::json)
    throw Error(ErrorKind::usage, "--target " + flags.target + " is a text of its own", "--format",
                "leave --format out, or use --format json to get it as a string");
  context.emit(init_document(plan, target ? std::optional(flags.target) : std::nullopt, code,
                             context.format()));
  return 0;
}

}  // namespace

void register_init(CLI::App& app, Context& context) {
  auto flags = std::make_shared<InitFlags>();
  CLI::App* command =
      add_command(app, context, "init", "how every parameter of a model starts, as code or a table",
                  [&context, flags] { return run_init(*flags, context); });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
