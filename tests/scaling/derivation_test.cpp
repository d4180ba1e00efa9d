#include <doctest/doctest.h>

#include <cctype>
#include <cmath>
#include <regex>

#include "scalecalc/scaling.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// Every named optimizer, and rules as a user writes them.
std::vector<std::string> all_rules() {
  std::vector<std::string> rules = family_names();
  rules.insert(rules.end(), {"sign(g)*norm(theta)", "rms(theta)^2*g", "g/norm(g)"});
  return rules;
}
const Placement placements[] = {Placement::post,     Placement::pre,    Placement::res_post,
                                Placement::sandwich, Placement::sub_ln, Placement::branchnorm,
                                Placement::ngpt,     Placement::none};

/// A block whose constants are none of the homogeneous branch, and whose scores are bounded.
BlockMoments some_block() {
  BlockMoments block;
  block.growth = Rational(7, 10);
  block.kappa = Rational(117, 100);
  block.rate = Rational(36, 10000);
  block.bounded_scores = true;
  return block;
}

ScalingSolution solution(const std::string& optimizer, Placement placement,
                         std::int64_t layers = 100) {
  ScalingProblem problem;
  problem.layers = layers;
  problem.optimizer = optimizer;
  problem.placement = placement;
  problem.block = some_block();
  return solve_scaling(problem);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string formulas(const ScalingSolution& found) {
  std::string all;
  for (const DerivationStep& step : found.derivation) all += step.formula + "\n";
  return all;
}

std::string words_of(const ScalingSolution& found) {
  std::string all;
  for (const DerivationStep& step : found.derivation)
    all += step.statement + "\n" + step.formula + "\n" + step.reason + "\n" + step.condition + "\n";
  return all;
}

/// As a word: "sgd's" counts, "lambda" does not hold "lamb".
bool has_word(const std::string& text, const std::string& word) {
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const auto is_letter = [&](std::size_t i) {
      return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i]));
    };
    if (!(at > 0 && is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  }
  return false;
}

template <class Visit>
void for_each_solution(Visit visit) {
  for (const std::string& rule : all_rules()) {
    for (const Placement placement : placements) {
      CAPTURE(rule);
      CAPTURE(to_string(placement));
      visit(rule, placement, solution(rule, placement));
    }
  }
}

/// What the symbols of a derivation stand for at its solution. Before the sum over a growing stream
/// is taken, dL has no number.
Bindings symbols_of(const ScalingSolution& found, Placement placement) {
  Bindings at = {{"N", 100.0},
                 {"alpha", found.alpha.value},
                 {"lambda", found.lambda.value},
                 {"g", found.gradient_scale.value},
                 {"theta", found.lambda.value},
                 {"eta", 1.0}};
  if (placement != Placement::sub_ln) at["dL"] = -1;
  if (found.warmup.factor) {
    at["eta_0"] = found.warmup.factor->value;
    at["dL_1"] = -1 / found.warmup.factor->value;
  }
  return at;
}

/// Both sides of an equation, where each of their symbols has a number.
std::optional<std::pair<double, double>> sides(std::string formula, const Bindings& at) {
  const std::string tail = " at the solution";
  if (formula.ends_with(tail)) formula.resize(formula.size() - tail.size());
  const auto split = formula.find(" = ");
  if (split == std::string::npos || formula.find(" = ", split + 1) != std::string::npos) return {};
  ParseOptions options;
  options.otherwise = Assumption::real;
  try {
    return std::pair{evaluate(parse(formula.substr(0, split), options), at),
                     evaluate(parse(formula.substr(split + 3), options), at)};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

TEST_CASE("a derivation goes from the rule to the pair") {
  ScalingProblem problem;
  problem.layers = 100;
  const std::string text = formulas(solve_scaling(problem));
  CAPTURE(text);
  CHECK(has(text, "sign(g)"));
  CHECK(has(text, "lambda/alpha"));
  CHECK(has(text, "2*N*lambda/alpha = 1"));
  CHECK(has(text, "alpha = (2*N)^(1/2)"));
  CHECK(has(text, "lambda = (2*N)^(-1/2)"));
  CHECK(has(text, "eta_0 = eta/(2*N)"));
  CHECK(has(text, "(4*N)^(-1/2)"));
}

TEST_CASE("every step says why, in both notations; the solution put back is proved") {
  for_each_solution([](const std::string&, Placement, const ScalingSolution& found) {
    bool proved = !found.closed_form;
    for (const DerivationStep& step : found.derivation) {
      CHECK(!step.statement.empty());
      CHECK(!step.formula.empty());
      CHECK(!step.formula_latex.empty());
      CHECK(!step.reason.empty());
      if (step.statement == "Put back")
        proved = has(step.reason, "canonical") || has(step.reason, "equal");
    }
    CHECK(proved);
  });
}

TEST_CASE("a derivation names no other optimizer") {
  for_each_solution([](const std::string& rule, Placement, const ScalingSolution& found) {
    const std::string text = words_of(found);
    for (const std::string& name : family_names()) {
      CAPTURE(name);
      if (name != rule) CHECK_FALSE(has_word(text, name));
    }
  });
}

TEST_CASE("every formula of a derivation has the value of the result") {
  for_each_solution([](const std::string&, Placement placement, const ScalingSolution& found) {
    const Bindings at = symbols_of(found, placement);
    int evaluated = 0;
    for (const DerivationStep& step : found.derivation) {
      if (step.statement == "The published bound" || step.statement == "Without the pair") continue;
      CAPTURE(step.formula);
      const auto both = sides(step.formula, at);
      if (!both) continue;
      // Each side went through some powers; the warm-up of the nearly flat law loses the digits
      // that e^(rate N) - 1 loses.
      CHECK(both->first == doctest::Approx(both->second).epsilon(1e-11));
      ++evaluated;
    }
    CHECK(evaluated >= (found.closed_form ? 5 : 3));
    CHECK(found.warmup.factor.has_value() == (placement != Placement::none));
  });
}

// "alpha = A, lambda = L (relative step R)" in a reason must solve this rule's own equation.
TEST_CASE("pairs that a sentence mentions solve the equation above it") {
  const std::regex pair("alpha = ([^ ]+), lambda = ([^ ]+) \\(relative step ([^ ]+)\\)[ ;.\\n]");
  int mentioned = 0;
  for_each_solution([&](const std::string&, Placement, const ScalingSolution& found) {
    const std::string text = words_of(found);
    for (std::sregex_iterator one(text.begin(), text.end(), pair), end; one != end; ++one) {
      CAPTURE(one->str());
      const Bindings at = {{"N", 100.0},
                           {"alpha", evaluate(parse((*one)[1].str()), {{"N", 100.0}})},
                           {"lambda", evaluate(parse((*one)[2].str()), {{"N", 100.0}})}};
      // Roundings of alpha and lambda grow by the powers of the equation, at most a few hundred.
      CHECK(evaluate(found.equation, at) == rounded(1, 4000));
      bool own = false;
      for (const Alternative& other : found.alternatives)
        own = own || to_string(other.relative_step.formula) == (*one)[3].str();
      CHECK(own);
      ++mentioned;
    }
  });
  CHECK(mentioned > 10);
}

TEST_CASE("the published bound is judged by the solved equation") {
  const auto said = [](const char* optimizer) {
    for (const DerivationStep& step : solution(optimizer, Placement::post).derivation)
      if (step.statement == "The published bound") return step.reason;
    return std::string();
  };
  CHECK(has(said("sgd"), "the equation 1/2: free of depth"));
  CHECK(has(said("ngd"), "the equation 1/2: free of depth"));
  CHECK(has(said("adam"), "the equation N^(1/2): "));
  CHECK(has(said("adam"), "still depends on depth"));
  CHECK(has(said("lamb"), "still depends on depth"));
}
