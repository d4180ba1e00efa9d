#include <memory>

#include "base/confidence.hpp"
#include "cli/app.hpp"
#include "cli/audit/document.hpp"
#include "cli/audit/rules.hpp"
#include "cli/model_options.hpp"
#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

struct AuditFlags {
  std::string weights, names, against, confidence = "0.99";
  bool strict = false;
  ModelArgument model;

  void add_to(CLI::App* app) {
    const Options add{app};
    add.text(
        "weights", weights, {"WEIGHTS", {}, ValueType::Path::file},
        "a .safetensors file, an index of shards, or their folder; without --model and without "
        "a config.json beside, their names and shapes say what they are");
    model.add_to(app, "--model");
    add.text("--against", against, {"RULES", rules_to_judge_by()},
             "whose rules: library (that makes the model of a config), hf (transformers), openai "
             "(OpenAI's code of GPT-2), model (the [init] of --model), derived (what scalecalc "
             "plans where no [init] is given) (default: library where it is known, else model)");
    add.text(
        "--names", names, types::naming(),
        "how tensors are called, hf-gpt2 for one; hf: as in the library of --model (default: the "
        "names that fit best)");
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
  AuditAnswer answer;
  answer.weights = flags.weights;
  AuditOptions& options = answer.options;
  options.names = flags.names;
  options.strict = flags.strict;
  options.threads = context.threads();
  options.confidence = parse_number("--confidence", flags.confidence, base::least_confidence,
                                    base::most_confidence, "0.99");
  options.progress = context.progress();
  const std::string against =
      flags.against.empty() ? "" : parse_choice("--against", flags.against, rules_to_judge_by());
  judge_weights(flags.model, against, answer);
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
