#include "cli/choose/answers.hpp"

#include <algorithm>
#include <numeric>

#include "cli/options.hpp"
#include "cli/value_type.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {
namespace {

/// Deeper networks take minutes to propagate.
constexpr std::int64_t kMostLayers = 1000;
constexpr std::int64_t kWidest = 65536;
constexpr std::int64_t kWidthStep = 8;
constexpr std::int64_t kHeadWidth = 64;

std::vector<std::string> goals() {
  return {"all", "pair", "init", "check"};
}

/// Those with a pair of alpha and lambda to solve.
std::vector<std::string> placements_with_pair() {
  std::vector<std::string> names;
  for (const std::string& name : placement_names()) try {
      ScalingProblem problem;
      problem.placement = placement_from(name);
      solve_scaling(problem);
      names.push_back(name);
    } catch (const Error&) {
      continue;
    }
  return names;
}

/// Targets that any transformer can be written for, and none.
std::vector<std::string> frameworks() {
  std::vector<std::string> names;
  for (const std::string& name : target_names())
    if (name != "hf") names.push_back(name);
  names.push_back("none");
  return names;
}

const std::string& answer_to(const Question& question, const Answers& answers) {
  return answers.*question.answer;
}

Answers completed(Answers answers) {
  for (const Question& question : choose_questions())
    if (answer_to(question, answers).empty())
      answers.*question.answer = is_asked(question, answers) ? question.standard : "none";
  return answers;
}

/// Throws Error where an answer is none of those that its question allows.
void check_names(const Answers& answers) {
  for (const Question& question : choose_questions())
    if (question.names != nullptr)
      parse_choice(question.option, answer_to(question, answers), question.names());
}

ModelSpec spec_of(const Answers& answers, const std::string& base) {
  ModelSpec spec = find_model(base);
  const std::int64_t ratio = spec.ffn / spec.width;
  spec.layers = parse_integer("--layers", answers.layers, 1, kMostLayers, "24");
  spec.width = parse_integer("--width", answers.width, kWidthStep, kWidest, "768");
  if (spec.width % kWidthStep != 0)
    throw Error(ErrorKind::input, "--width must be a multiple of 8", "got '" + answers.width + "'",
                "for example --width 768");
  spec.heads = spec.width / std::gcd(spec.width, kHeadWidth);
  spec.ffn = ratio * spec.width;
  spec.placement = placement_from(answers.placement, "--placement");
  spec.optimizer = answers.optimizer;
  spec.init = {};
  spec.init.scheme = "lecun";
  return spec;
}

/// The pair of the depth, in place of the spec's.
void solve_pair(Choice& choice) {
  ScalingProblem problem;
  problem.layers = choice.spec.layers;
  problem.optimizer = choice.spec.optimizer;
  problem.placement = choice.spec.placement;
  choice.scaling = solve_scaling(problem);
  const ScalingSolution& found = choice.scaling;
  choice.alpha = choice.lambda = "auto";
  choice.spec.alpha = found.alpha.formula;
  choice.spec.lambda = found.lambda.formula;
  if (found.closed_form) return;
  choice.spec.lambda = Expr(Rational::shortest(found.lambda.value));
  choice.alpha = to_string(found.alpha.formula);
  choice.lambda = report::shortest(found.lambda.value);
}

}  // namespace

const std::vector<Question>& choose_questions() {
  static const std::vector<Question> all = {
      {"--goal", "What do you want?", "all",
       "pair: alpha and lambda, which keep the loss change of a step at every depth;\n"
       "init: the std of every parameter, with code; check: what signals and gradients do,\n"
       "predicted and measured; all: these three.",
       &Answers::goal, goals, ""},
      {"--layers", "How many blocks has the transformer?", "12",
       "The depth N: each block has attention and an ffn.", &Answers::layers, nullptr, "1 to 1000"},
      {"--width", "How many features has its stream?", "512",
       "The width; heads are 64 wide where it allows it, the ffn has 4 times the width.",
       &Answers::width, nullptr, "8 to 65536, in steps of 8"},
      {"--placement", "Where does a block have its norms?", "pre",
       "post: after each sum (as in DeepNorm); pre: before each branch; res-post: at the end of\n"
       "each branch; sandwich: at both; sub-ln: before it and inside; ngpt: at the end\n"
       "of each branch and after each sum; none: nowhere.",
       &Answers::placement, placements_with_pair, ""},
      {"--optimizer", "Which optimizer steps?", "adam",
       "Its update decides how the loss change of a step grows with depth.", &Answers::optimizer,
       family_names, ""},
      {"--framework", "Code for which framework?", "pytorch",
       "What the init code is written for; none: no code.", &Answers::framework, frameworks, ""}};
  return all;
}

bool is_asked(const Question& question, const Answers& answers) {
  if (question.answer != &Answers::framework) return true;
  return answers.goal != "pair" && answers.goal != "check";
}

std::string allowed_answers(const Question& question) {
  return question.names == nullptr ? question.range : alternatives(question.names());
}

Choice choose(const Answers& answers) {
  Choice choice;
  choice.answers = completed(answers);
  const Answers& said = choice.answers;
  check_names(said);
  if (said.framework != "none" && (said.goal == "pair" || said.goal == "check"))
    throw Error(ErrorKind::usage, "no code is made for --goal " + said.goal,
                "--framework " + said.framework, "leave it out, or use --goal init");
  choice.base = said.placement == "none" ? "no-ln-12" : "pre-ln-12";
  choice.spec = spec_of(said, choice.base);
  solve_pair(choice);
  std::optional<Target> target;
  if (said.framework != "none") target = target_from(said.framework);
  choice.plan = named_plan(choice.spec, choice.base, target);
  return choice;
}

}  // namespace scalecalc::cli
