#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/choose/answers.hpp"
#include "cli/choose/document.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"
#include "cli/terminal.hpp"

namespace scalecalc::cli {
namespace {

struct ChooseFlags {
  Answers answers;
  bool defaults = false;
};

/// One line of standard input; what is asked goes to standard error.
std::string read_answer(const Question& question) {
  std::fprintf(stderr, "%s\n  %s, ? for help [%s]: ", question.asks,
               allowed_answers(question).c_str(), question.standard);
  if (const auto line = read_typed_line()) return *line;
  std::fputc('\n', stderr);
  throw Error(ErrorKind::usage, "the answers ended here", question.option,
              "answer, or give the option");
}

/// Asks until the answer is right beside those that are there.
void ask(const Question& question, Answers& answers) {
  for (;;) {
    std::string answer = read_answer(question);
    if (answer == "?") {
      std::fprintf(stderr, "%s\n", question.help);
      continue;
    }
    Answers tried = answers;
    tried.*question.answer = answer.empty() ? question.standard : answer;
    try {
      choose(tried);
      answers = tried;
      return;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", base::printable(error.what()).c_str());
    }
  }
}

std::vector<const Question*> open_questions(const Answers& answers) {
  std::vector<const Question*> open;
  for (const Question& question : choose_questions())
    if ((answers.*question.answer).empty() && is_asked(question, answers))
      open.push_back(&question);
  return open;
}

void ask_all(Answers& answers) {
  const std::vector<const Question*> open = open_questions(answers);
  if (open.empty()) return;
  if (!is_terminal(STDIN_FILENO)) {
    std::string missing;
    for (const Question* question : open)
      missing += (missing.empty() ? "" : " ") + std::string(question->option);
    throw Error(ErrorKind::usage, "there is no terminal to ask on", missing,
                "give these options, or --defaults");
  }
  choose(answers);
  for (const Question& question : choose_questions())
    if ((answers.*question.answer).empty() && is_asked(question, answers)) ask(question, answers);
}

int run_choose(const ChooseFlags& flags, Context& context) {
  Answers answers = flags.answers;
  if (!flags.defaults) ask_all(answers);
  Choice choice = choose(answers);
  if (choice.answers.framework != "none") {
    ExportOptions options;
    options.seed = 0;
    options.command = init_command(choice);
    choice.code = export_text(choice.plan, target_from(choice.answers.framework), options);
  }
  context.emit(choose_document(choice));
  return 0;
}

}  // namespace

void register_choose(CLI::App& app, Context& context) {
  auto flags = std::make_shared<ChooseFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "choose",
       .summary = "asks six questions, and tells the numbers and the commands to run",
       .examples = {"scalecalc choose --defaults",
                    "scalecalc choose --goal pair --layers 48 --placement post --defaults"},
       .form = choose_form,
       .uses = kNumbers},
      [&context, flags] { return run_choose(*flags, context); });
  const Options add{command};
  const auto answer = [&](const Question& question, const char* shown, const std::string& help) {
    const ValueType type =
        question.names == nullptr ? ValueType(shown) : ValueType(shown, question.names);
    add.text(question.option, flags->answers.*question.answer, type, help);
  };
  const std::vector<Question>& questions = choose_questions();
  answer(questions[0], "GOAL", "all, pair (alpha and lambda), init (std and code) or check");
  answer(questions[1], "N", "blocks of the transformer, 1 to 1000");
  answer(questions[2], "D", "features of its stream, a multiple of 8");
  answer(questions[3], "PLACEMENT", "where a block has its norms: post, pre, none, ...");
  answer(questions[4], "OPTIMIZER", "what steps: adam, sgd, muon, ...");
  answer(questions[5], "FRAMEWORK", "of the code: pytorch, flax, keras, megatron, c or none");
  add.flag("--defaults", flags->defaults,
           "ask nothing: what no option says is the answer in brackets. Without it, and without a "
           "terminal on standard input, every option must be given");
}

}  // namespace scalecalc::cli
