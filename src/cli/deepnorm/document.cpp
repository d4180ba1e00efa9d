#include "cli/deepnorm/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scalecalc::cli {
namespace {

using report::Section;
using report::Table;
using report::Value;

Value formula(const Expr& expr) {
  return Value::Formula{to_string(expr), to_string(expr, Notation::latex)};
}

/// Numbers and formulas of one stack at its depth.
class Numbers {
 public:
  Numbers(const StackAnswer& answer, int digits) : answer_(answer), digits_(digits) {
    if (digits > 17 && !answer.solution.closed_form)
      throw Error(ErrorKind::usage, "lambda has no closed form here, so it has 17 digits at most",
                  "--digits", "leave --digits out");
  }

  Value value(const Scaled& scaled) const {
    if (digits_ <= 17) return scaled.value;
    return Value::Digits{evaluate_digits(
        scaled.formula, digits_, {{answer_.problem.depth_symbol, Expr(answer_.problem.layers)}})};
  }
  std::string text(const Scaled& scaled) const {
    const Value number = value(scaled);
    if (const auto* digits = std::get_if<Value::Digits>(&number.data())) return digits->text;
    return report::format_number(scaled.value, digits_ > 0 ? digits_ : 7);
  }

 private:
  const StackAnswer& answer_;
  int digits_;
};

Value init_values(const std::vector<InitEntry>& table) {
  Value list = Value::array();
  for (const InitEntry& entry : table) {
    Value row = Value::object();
    row["kind"] = entry.kind;
    row["gain"] = entry.gain_value;
    row["gain_formula"] = to_string(entry.gain);
    row["std_formula"] = entry.std_formula;
    row["std"] = entry.std_value ? Value(*entry.std_value) : Value();
    list.push_back(std::move(row));
  }
  return list;
}

Value derivation_values(const std::vector<DerivationStep>& steps) {
  Value list = Value::array();
  for (const DerivationStep& step : steps) {
    Value row = Value::object();
    row["statement"] = step.statement;
    row["formula"] = step.formula;
    row["latex"] = step.formula_latex;
    row["reason"] = step.reason;
    row["condition"] = step.condition;
    list.push_back(std::move(row));
  }
  return list;
}

Value condition_values(const std::vector<Condition>& conditions) {
  Value list = Value::array();
  for (const Condition& condition : conditions) {
    Value row = Value::object();
    row["name"] = condition.name;
    row["statement"] = condition.statement;
    row["formula"] = to_string(condition.quantity.formula);
    row["value"] = condition.quantity.value;
    row["relation"] = condition.at_most ? "<=" : ">=";
    row["bound"] = condition.bound;
    row["holds"] = condition.holds;
    list.push_back(std::move(row));
  }
  return list;
}

Value alternative_values(const std::vector<Alternative>& alternatives) {
  Value list = Value::array();
  for (const Alternative& other : alternatives) {
    Value row = Value::object();
    row["constraint"] = other.constraint;
    row["alpha"] = other.alpha.value;
    row["lambda"] = other.lambda.value;
    row["alpha_formula"] = to_string(other.alpha.formula);
    row["lambda_formula"] = to_string(other.lambda.formula);
    row["relative_step_scale"] = other.relative_step.value;
    row["relative_step_scale_formula"] = to_string(other.relative_step.formula);
    row["branch_sum"] = other.branch_sum.value;
    list.push_back(std::move(row));
  }
  return list;
}

Value published_values(const PublishedPair& pair) {
  Value row = Value::object();
  row["alpha"] = pair.alpha.value;
  row["lambda"] = pair.lambda.value;
  row["alpha_formula"] = to_string(pair.alpha.formula);
  row["lambda_formula"] = to_string(pair.lambda.formula);
  row["rederived_alpha"] = pair.rederived_alpha.value;
  row["rederived_lambda"] = pair.rederived_lambda.value;
  row["rederived_alpha_formula"] = to_string(pair.rederived_alpha.formula);
  row["rederived_lambda_formula"] = to_string(pair.rederived_lambda.formula);
  row["ratio"] = pair.ratio.value;
  Value why = Value::array();
  for (const std::string& reason : pair.why) why.push_back(reason);
  row["why"] = std::move(why);
  return row;
}

/// Of a mixture.
Value rest_values(const std::vector<RestStep>& steps) {
  Value list = Value::array();
  for (const RestStep& step : steps) {
    Value row = Value::object();
    row["parameters"] = step.parameters;
    row["optimizer"] = step.optimizer;
    row["gradient_scale"] = step.gradient.value;
    row["gradient_scale_formula"] = to_string(step.gradient.formula);
    row["relative_step_scale"] = step.relative_step.value;
    row["relative_step_scale_formula"] = to_string(step.relative_step.formula);
    if (step.loss_change) {
      row["loss_change"] = step.loss_change->value;
      row["loss_change_formula"] = to_string(step.loss_change->formula);
    }
    list.push_back(std::move(row));
  }
  return list;
}

void add_quantity(Value& results, const std::string& key, const Numbers& numbers,
                  const Scaled& scaled) {
  results[key] = numbers.value(scaled);
  results[key + "_formula"] = formula(scaled.formula);
}

/// null, both the number and the formula, where no warm-up helps.
void add_warm_up(Value& results, const Numbers& numbers, const WarmUp& warmup) {
  if (warmup.factor) {
    add_quantity(results, "warmup", numbers, *warmup.factor);
    results["warmup_exponent"] = -warmup.exponent;
    if (warmup.spread) results["warmup_spread"] = *warmup.spread;
    return;
  }
  results["warmup"] = Value();
  results["warmup_formula"] = Value();
  results["warmup_none_because"] = warmup.why_none;
}

void add_block(Value& results, const BlockMoments& moments) {
  Value block = Value::object();
  block["growth"] = moments.growth.to_double();
  block["kappa"] = moments.kappa.to_double();
  block["rate"] = moments.rate.to_double();
  block["spread"] = moments.spread.to_double();
  results["block"] = std::move(block);
}

/// As printed, which is an equation where there is no closed form.
Value lambda_formula(const ScalingSolution& solution) {
  return solution.closed_form ? formula(solution.lambda.formula) : Value(solution.lambda_formula);
}

Section pair_section(const StackAnswer& answer, const std::string& title, const Numbers& numbers) {
  const ScalingSolution& derived = answer.solution;
  Table table;
  table.columns = {"", "value", "formula", "what it is"};
  const auto add = [&](const char* name, const Scaled& scaled, const Value& written,
                       const char* meaning) {
    table.rows.push_back({name, numbers.text(scaled), written, meaning});
  };
  if (answer.published) {
    const PublishedPair& pair = *answer.published;
    add("alpha", pair.alpha, formula(pair.alpha.formula), "published skip multiplier");
    add("lambda", pair.lambda, formula(pair.lambda.formula), "published gain (beta there)");
    add("alpha exactly", pair.rederived_alpha, formula(pair.rederived_alpha.formula),
        "the published argument, solved");
    add("lambda exactly", pair.rederived_lambda, formula(pair.rederived_lambda.formula),
        "the published argument, solved");
    add("alpha derived", derived.alpha, formula(derived.alpha.formula),
        "from the step equation here");
    add("lambda derived", derived.lambda, lambda_formula(derived), "from the step equation here");
  } else {
    add("alpha", derived.alpha, formula(derived.alpha.formula),
        answer.problem.placement == Placement::res_post ||
                answer.problem.placement == Placement::sandwich ||
                answer.problem.placement == Placement::branchnorm
            ? "the branch is divided by it"
            : "skip multiplier");
    add("lambda", derived.lambda, lambda_formula(derived), "gain of v, o, ffn_in, ffn_out");
  }
  add("branch weight", derived.branch_weight, formula(derived.branch_weight.formula),
      "size of a branch against the stream");
  add("gradient", derived.gradient_scale, formula(derived.gradient_scale.formula),
      "size of one matrix' gradient");
  add("relative step", derived.relative_step_scale, formula(derived.relative_step_scale.formula),
      "|dtheta|/(eta*|theta|) of one matrix");
  for (const RestStep& step : derived.rest) {
    add(("of " + step.parameters).c_str(), step.relative_step, formula(step.relative_step.formula),
        step.is_second ? "the same, by the second optimizer" : "the same, by the first optimizer");
    if (step.loss_change)
      add("their loss change", *step.loss_change, formula(step.loss_change->formula),
          "beside 1: a learning rate times its inverse evens it out");
  }
  return {title, table};
}

/// The learning rate to begin with instead of a pair, or why none helps.
Section warm_up_section(const StackAnswer& answer, const Numbers& numbers) {
  const WarmUp& warmup = answer.solution.warmup;
  if (!warmup.factor)
    return {"Or a warm-up, with alpha = lambda = 1: none helps",
            report::Paragraph{warmup.why_none + "."}};
  report::Facts facts;
  facts.rows = {{"from eta times", numbers.text(*warmup.factor)},
                {"formula", formula(warmup.factor->formula)},
                {"loss change there", fmt::format("grows as N^{:.2f}", warmup.exponent)}};
  if (warmup.spread)
    facts.rows.emplace_back("between draws", fmt::format("x {0:.2g} or 1/{0:.2g}",
                                                         std::exp(std::sqrt(*warmup.spread))));
  return {fmt::format("Or a warm-up, with alpha = lambda = 1 ({})", answer.block), facts};
}

/// Deep for its width: what a median over draws does not tell of any.
void add_draws_apart(const WarmUp& warmup, std::vector<Section>& sections) {
  if (!warmup.factor || warmup.spread.value_or(0) <= 1) return;
  sections.push_back(
      {"", report::Paragraph{"So deep for its width, draws of the weights differ by more than a "
                             "factor e in this, and no one warm-up serves them all: it is the "
                             "median of them, to an order of magnitude. A larger --width brings "
                             "them together."}});
}

Section init_section(const std::vector<InitEntry>& entries) {
  const bool sized = std::all_of(entries.begin(), entries.end(), [](const InitEntry& entry) {
    return entry.std_value.has_value();
  });
  Table table;
  table.columns = {"parameter", "gain", "std"};
  if (sized) table.columns.push_back("value");
  for (const InitEntry& entry : entries) {
    table.rows.push_back({entry.kind, report::format_number(entry.gain_value),
                          Value::Formula{entry.std_formula, entry.std_latex}});
    if (sized) table.rows.back().push_back(report::format_number(*entry.std_value));
  }
  return {sized ? "Init" : "Init (std as numbers with --width)", table};
}

Section condition_section(const ScalingSolution& solution) {
  Table table;
  table.columns = {"", "condition", "value", "bound"};
  for (const Condition& condition : solution.conditions)
    table.rows.push_back({condition.holds ? "yes" : "NO", condition.statement,
                          report::format_number(condition.quantity.value, 4),
                          fmt::format("{} {}", condition.at_most ? "<=" : ">=",
                                      report::format_number(condition.bound))});
  return {"Holds when", table};
}

Value with_value(const Scaled& scaled) {
  if (scaled.formula.is_number()) return formula(scaled.formula);
  const std::string value = " = " + report::format_number(scaled.value, 4);
  return Value::Formula{to_string(scaled.formula) + value,
                        to_string(scaled.formula, Notation::latex) + value};
}

Section alternative_section(const ScalingSolution& solution) {
  Table table;
  table.columns = {"closed by", "alpha", "lambda", "relative step", "sum of branches"};
  for (const Alternative& other : solution.alternatives)
    table.rows.push_back({other.constraint, formula(other.alpha.formula),
                          formula(other.lambda.formula), with_value(other.relative_step),
                          report::format_number(other.branch_sum.value, 4)});
  return {"Other pairs that solve the same equation", table};
}

}  // namespace

Value stack_results(const StackAnswer& answer, int digits) {
  const ScalingSolution& derived = answer.solution;
  const Numbers numbers(answer, digits);
  Value results = Value::object();
  if (answer.published) {
    add_quantity(results, "alpha", numbers, answer.published->alpha);
    add_quantity(results, "lambda", numbers, answer.published->lambda);
    Value pair = Value::object();
    pair["alpha"] = numbers.value(derived.alpha);
    pair["lambda"] = numbers.value(derived.lambda);
    pair["alpha_formula"] = derived.alpha_formula;
    pair["lambda_formula"] = derived.lambda_formula;
    results["derived"] = std::move(pair);
    results["published"] = published_values(*answer.published);
  } else {
    results["alpha"] = numbers.value(derived.alpha);
    results["alpha_formula"] = derived.alpha_formula;
    results["lambda"] = numbers.value(derived.lambda);
    results["lambda_formula"] = derived.lambda_formula;
  }
  add_quantity(results, "branch_weight", numbers, derived.branch_weight);
  add_quantity(results, "branch_sum", numbers, derived.branch_sum);
  add_quantity(results, "gradient_scale", numbers, derived.gradient_scale);
  add_quantity(results, "relative_step_scale", numbers, derived.relative_step_scale);
  if (!derived.rest.empty()) results["rest"] = rest_values(derived.rest);
  add_warm_up(results, numbers, derived.warmup);
  add_block(results, answer.problem.block);
  results["family"] = derived.family;
  results["gradient_power"] = derived.law.gradient_power.to_string();
  results["parameter_power"] = derived.law.parameter_power.to_string();
  results["outer_power"] = derived.law.outer_power.to_string();
  results["placement"] = to_string(answer.problem.placement);
  results["constraint"] = derived.constraint.to_string();
  results["equation"] = to_string(derived.equation) + " == 1";
  results["equation_value"] = derived.equation_value;
  results["init"] = init_values(answer.init);
  results["derivation"] = derivation_values(derived.derivation);
  results["conditions"] = condition_values(derived.conditions);
  results["alternatives"] = alternative_values(derived.alternatives);
  return results;
}

std::vector<Section> stack_sections(const StackAnswer& answer, bool titled, bool explain,
                                    int digits) {
  const Numbers numbers(answer, digits);
  const ScalingProblem& problem = answer.problem;
  const std::string title = fmt::format(
      "{}{} layers, {} residual branches, {} placement, {} ({}), {}",
      titled ? answer.name + ": " : "", problem.layers, problem.layers * problem.sublayers,
      to_string(problem.placement), problem.optimizer,
      optimizer_title(optimizer(problem.optimizer)), answer.solution.constraint.to_string());
  std::vector<Section> sections = {pair_section(answer, title, numbers)};
  if (answer.published) {
    Table why;
    why.columns = {"", "why the published pair differs"};
    for (std::size_t i = 0; i < answer.published->why.size(); ++i)
      why.rows.push_back({std::to_string(i + 1), answer.published->why[i]});
    sections.push_back({"", why});
  }
  sections.push_back(warm_up_section(answer, numbers));
  add_draws_apart(answer.solution.warmup, sections);
  sections.push_back(init_section(answer.init));
  sections.push_back(
      {"", report::Paragraph{"Std of --scheme times this pair's gain. scalecalc init MODEL tells "
                             "those of a model as its file says it; with --alpha auto --lambda "
                             "auto it takes this pair and the model's own scheme."}});
  sections.push_back(condition_section(answer.solution));
  if (!answer.solution.alternatives.empty())
    sections.push_back(alternative_section(answer.solution));
  if (explain) {
    report::Derivation derivation;
    for (const DerivationStep& step : answer.solution.derivation)
      derivation.steps.push_back(
          {step.statement, step.formula, step.formula_latex, step.reason, step.condition});
    sections.push_back({"Derivation", derivation});
  }
  return sections;
}

}  // namespace scalecalc::cli
