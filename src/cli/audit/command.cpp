#include <memory>

#include "base/confidence.hpp"
#include "cli/app.hpp"
#include "cli/audit/document.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"

namespace scalecalc::cli {
namespace {

struct AuditFlags {
  std::string weights, names, confidence = "0.99";
  bool strict = false;
  ModelArgument model;

  void add_to(CLI::App* app) {
    const Options add{app};
    add.text("weights", weights, {"WEIGHTS", {}, ValueType::Path::file},
             "a .safetensors file, an index of shards, or their folder");
    model.add_to(app, "--model");
    add.text("--names", names, types::naming(),
             "how tensors are called, hf-gpt2 for one (default: the names that fit best)");
    add.text("--confidence", confidence, "P", "that right weights pass all together");
    add.flag("--strict", strict,
             "the form of a distribution counts too: a normal where a uniform of the same std "
             "is due is wrong");
  }
};

AuditAnswer answer_to(const AuditFlags& flags, Context& context) {
  if (flags.weights.empty()) {
    throw Error(ErrorKind::usage, "weights are missing", "scalecalc audit",
                "for example scalecalc audit model.safetensors --model gpt2");
  }
  std::string model = flags.model.model;
  if (model.empty() && !flags.weights.ends_with(".json") && is_config(flags.weights))
    model = flags.weights;
  if (model.empty()) {
    throw Error(ErrorKind::usage, "--model is missing", "scalecalc audit",
                "a preset (scalecalc presets), a model file or a config.json: --model gpt2");
  }
  AuditAnswer answer;
  answer.weights = flags.weights;
  answer.model = model;
  AuditOptions& options = answer.options;
  options.names = flags.names;
  options.strict = flags.strict;
  options.threads = context.threads();
  options.confidence = parse_number("--confidence", flags.confidence, base::least_confidence,
                                    base::most_confidence, "0.99");
  options.progress = context.progress();
  if (!flags.model.options.any() && flags.names.empty())
    answer.library = read_config_argument(model);
  if (answer.library) {
    answer.audit = audit(answer.weights, *answer.library, options);
    return answer;
  }
  answer.spec = flags.model.spec("audit");
  answer.audit = audit(answer.weights, answer.spec, options);
  return answer;
}

}  // namespace

void register_audit(CLI::App& app, Context& context) {
  auto flags = std::make_shared<AuditFlags>();
  CLI::App* command =
      add_command(app, context,
                  {.name = "audit",
                   .summary = "existing weights beside the rules they should follow",
                   .examples = {"scalecalc init mlp-relu --weights w.safetensors",
                                "scalecalc audit w.safetensors --model mlp-relu"},
                   .form = audit_form,
                   .uses = {.threads = true, .digits = true}},
                  [&context, flags] {
                    const AuditAnswer answer = answer_to(*flags, context);
                    context.emit(audit_document(answer));
                    return answer.audit.passed ? 0 : 1;
                  });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
