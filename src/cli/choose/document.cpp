#include "cli/choose/document.hpp"

#include <fmt/format.h>

#include <map>

#include "cli/forms.hpp"
#include "cli/init/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

/// Columns of a line that is to be pasted; longer commands go on behind a backslash.
constexpr std::size_t kLine = 76;

/// What verify takes seconds for.
constexpr std::int64_t kVerifiedLayers = 4;

bool wants(const Choice& choice, const char* goal) {
  return choice.answers.goal == "all" || choice.answers.goal == goal;
}

const char* file_of(const std::string& framework) {
  static const std::map<std::string, const char*> files = {{"megatron", "scalecalc_init.txt"},
                                                           {"c", "scalecalc_init.h"}};
  const auto found = files.find(framework);
  return found == files.end() ? "scalecalc_init.py" : found->second;
}

/// Of this model, or of one like it that is small.
std::string model_words(const Choice& choice, bool is_small) {
  const ModelSpec& spec = choice.spec;
  const std::int64_t layers = is_small ? std::min(spec.layers, kVerifiedLayers) : spec.layers;
  std::string words = fmt::format(
      "{} --layers {} --width {} --heads {} --placement {} --optimizer {} --alpha {} --lambda {} "
      "--scheme lecun",
      choice.base, layers, is_small ? 64 : spec.width, is_small ? 4 : spec.heads,
      choice.answers.placement, choice.answers.optimizer, choice.alpha, choice.lambda);
  return is_small ? words + " --sequence 16 --vocab 64" : words;
}

std::vector<std::string> commands_of(const Choice& choice) {
  std::vector<std::string> commands;
  const Answers& said = choice.answers;
  if (wants(choice, "pair"))
    commands.push_back(fmt::format(
        "scalecalc deepnorm --layers {} --optimizer {} --placement {} --model {} --width {} "
        "--heads {}",
        choice.spec.layers, said.optimizer, said.placement, choice.base, choice.spec.width,
        choice.spec.heads));
  if (wants(choice, "init")) commands.push_back(init_command(choice));
  if (wants(choice, "check")) {
    commands.push_back("scalecalc propagate " + model_words(choice, false));
    commands.push_back("scalecalc verify " + model_words(choice, true));
  }
  return commands;
}

/// With a backslash at the end of each line but the last; an option stays beside its value.
std::string broken(const std::string& command) {
  std::string text, line;
  for (std::size_t start = 0; start < command.size();) {
    const std::size_t end = std::min(command.find(" -", start + 1), command.size());
    const std::string option = command.substr(start, end - start);
    if (line.size() + option.size() > kLine) {
      text += line + " \\\n";
      line = "   ";
    }
    line += option;
    start = end;
  }
  return text + line;
}

std::string command_lines(const std::vector<std::string>& commands) {
  std::string text;
  for (const std::string& command : commands) text += (text.empty() ? "" : "\n") + broken(command);
  return text;
}

report::Table pair_table(const Choice& choice) {
  const ScalingSolution& found = choice.scaling;
  return {{"", "value", "formula", "what it is"},
          {{"alpha", found.alpha.value, found.alpha_formula, "skip multiplier"},
           {"lambda", found.lambda.value, found.lambda_formula,
            "gain of v, o, ffn_in, ffn_out (beta of DeepNet)"}}};
}

}  // namespace

std::string init_command(const Choice& choice) {
  const std::string& framework = choice.answers.framework;
  const std::string command = "scalecalc init " + model_words(choice, false);
  if (framework == "none") return command;
  return command + " --target " + framework + " -o " + file_of(framework);
}

report::Document choose_document(const Choice& choice) {
  const Answers& said = choice.answers;
  const std::vector<std::string> commands = commands_of(choice);
  report::Document document;
  document.command = "choose";
  document.inputs["goal"] = said.goal;
  document.inputs["layers"] = choice.spec.layers;
  document.inputs["width"] = choice.spec.width;
  document.inputs["placement"] = said.placement;
  document.inputs["optimizer"] = said.optimizer;
  document.inputs["framework"] = said.framework;
  document.results["commands"] = Value::array();
  for (const std::string& command : commands) document.results["commands"].push_back(command);
  document.results["alpha"] = choice.scaling.alpha.value;
  document.results["alpha_formula"] = choice.scaling.alpha_formula;
  document.results["lambda"] = choice.scaling.lambda.value;
  document.results["lambda_formula"] = choice.scaling.lambda_formula;
  document.rows = grouped_parameters(choice.plan);
  document.results["init"] = report::records(document.rows);
  document.results["code"] = choice.code.empty() ? Value() : Value(choice.code);
  document.sections = {
      {fmt::format("{} blocks, width {}, {} heads, {} placement, {}", choice.spec.layers,
                   choice.spec.width, choice.spec.heads, said.placement, said.optimizer),
       pair_table(choice)}};
  if (wants(choice, "init")) document.sections.push_back({"How parameters start", document.rows});
  document.sections.push_back({"Commands", report::Code{command_lines(commands)}});
  return document;
}

JsonForm choose_form() {
  using namespace shapes;
  const Shape start = object({{"parameters", text(), "alike ones, as a pattern of paths"},
                              {"of", count(), "how many"},
                              {"role", text(), "in their layer"},
                              {"start", text(), "the distribution"},
                              {"std", number().or_null(), "of an entry; null: a constant"},
                              {"bound", number().or_null(), "no entry is larger; null: unbounded"},
                              {"rule", text(), "variance before the gain; empty: no matrix"},
                              {"formula", text(), "of the std"}});
  return {object({{"goal", one_of({"all", "pair", "init", "check"}), "what is wanted"},
                  {"layers", count(), "blocks"},
                  {"width", count(), "features of the stream"},
                  {"placement", text(), "where a block has its norms"},
                  {"optimizer", text(), "that steps"},
                  {"framework", text(), "that code is made for, or none"}}),
          object({{"commands", list(text()), "lines for a shell, which give the numbers below"},
                  {"alpha", number(), "skip multiplier"},
                  {"alpha_formula", text(), "in N"},
                  {"lambda", number(), "gain of v, o, ffn_in and ffn_out"},
                  {"lambda_formula", text(), "in N"},
                  {"init", list(start), "how parameters start"},
                  {"code", text().or_null(), "that starts them so; null: none is asked for"}})};
}

}  // namespace scalecalc::cli
