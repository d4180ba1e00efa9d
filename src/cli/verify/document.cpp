#include "cli/verify/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "cli/figures.hpp"
#include "cli/propagate/document.hpp"
#include "cli/propagate/stack.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

const std::vector<std::string> kColumns = {"path", "quantity", "predicted", "measured",
                                           "+-",   "band",     "z",         "verdict"};

Value comparison_value(const Comparison& comparison) {
  Value value = Value::object();
  value["path"] = comparison.path;
  value["kind"] = comparison.kind;
  value["quantity"] = comparison.quantity;
  value["predicted"] = comparison.predicted;
  value["measured"] = comparison.measured;
  value["standard_error"] = comparison.standard_error;
  value["band"] = comparison.band;
  value["z"] = comparison.z;
  value["ok"] = comparison.ok;
  value["in_log_space"] = comparison.in_log_space;
  return value;
}

Value comparisons_of(const std::vector<Comparison>& comparisons) {
  Value list = Value::array();
  for (const Comparison& comparison : comparisons) list.push_back(comparison_value(comparison));
  return list;
}

std::string verdict(const Comparison& comparison) {
  return std::string(comparison.ok ? "ok" : "FAILS") +
         (comparison.in_log_space ? ", typical values" : "");
}

std::vector<Value> row_of(const Comparison& comparison) {
  return {comparison.path,
          comparison.quantity,
          comparison.predicted,
          comparison.measured,
          comparison.standard_error,
          comparison.band,
          std::round(comparison.z * 100) / 100,
          verdict(comparison)};
}

/// Long stacks are cut; failures are always there.
Table table_of(const std::vector<Comparison>& comparisons) {
  std::vector<std::string> paths;
  for (const Comparison& comparison : comparisons) paths.push_back(comparison.path);
  Table table{kColumns, {}};
  for (const StackLine& line :
       shorten_stack(paths, [&](std::size_t row) { return !comparisons[row].ok; })) {
    if (line.left_out)
      table.rows.push_back({line.text, "", {}, {}, {}, {}, {}, "all ok"});
    else
      table.rows.push_back(row_of(comparisons[line.begin]));
  }
  return table;
}

Table csv_rows(const Verification& verification) {
  Table table{{"path", "kind", "quantity", "predicted", "measured", "standard_error", "band", "z",
               "ok", "in_log_space"},
              {}};
  for (const auto* comparisons : {&verification.sites, &verification.parameters})
    for (const Comparison& c : *comparisons)
      table.rows.push_back({c.path, c.kind, c.quantity, c.predicted, c.measured, c.standard_error,
                            c.band, c.z, c.ok, c.in_log_space});
  return table;
}

/// How far predictions are off by quantity, as a share of predictions that do not vanish.
Table by_quantity(const Verification& verification) {
  Table table{{"quantity", "compared", "outside", "median off %", "largest off %", "largest |z|"},
              {}};
  const auto add = [&table](const std::string& name, const std::vector<Comparison>& comparisons,
                            const std::string& quantity) {
    std::vector<double> shares;
    double z = 0;
    int compared = 0, outside = 0;
    for (const Comparison& c : comparisons) {
      if (c.quantity != quantity) continue;
      if (c.predicted != 0)
        shares.push_back(100 * std::abs((c.measured - c.predicted) / c.predicted));
      z = std::max(z, std::abs(c.z));
      outside += c.ok ? 0 : 1;
      ++compared;
    }
    if (compared == 0) return;
    std::sort(shares.begin(), shares.end());
    const bool any = !shares.empty();
    table.rows.push_back({name, compared, outside, any ? Value(shares[shares.size() / 2]) : Value(),
                          any ? Value(shares.back()) : Value(), std::round(z * 100) / 100});
  };
  for (const char* quantity : {"second", "cross", "mean", "grad_second", "grad_cross"})
    add(quantity, verification.sites, quantity);
  for (const char* quantity : {"second", "grad_second"})
    add(std::string("parameter ") + quantity, verification.parameters, quantity);
  return table;
}

Value causes_value(const std::vector<Cause>& causes) {
  Value list = Value::array();
  for (const Cause& cause : causes) {
    Value entry = Value::object();
    entry["path"] = cause.path;
    entry["quantity"] = cause.quantity;
    entry["rule"] = cause.rule;
    entry["assumption"] = cause.assumption.empty() ? Value() : Value(cause.assumption);
    entry["condition"] = cause.condition.empty() ? Value() : Value(cause.condition);
    entry["condition_holds"] = cause.condition_holds;
    list.push_back(entry);
  }
  return list;
}

std::string sentence(const Cause& cause) {
  std::string text = fmt::format("{} {} fails first", cause.path, cause.quantity);
  if (!cause.rule.empty()) text += fmt::format("; it is given by the rule of {}", cause.rule);
  if (cause.assumption.empty()) return text + ", which takes nothing for granted";
  text += ", which takes for granted: " + cause.assumption;
  if (!cause.condition.empty())
    text += fmt::format(" ({}{})", cause.condition, cause.condition_holds ? "" : ": it is not");
  return text;
}

std::string outcome(const Verification& verification) {
  std::string text = summary_line(verification) + ".";
  for (const std::string& path : verification.unmatched)
    text += "\n" + path + " is only predicted, or only measured.";
  for (const Cause& cause : verification.causes) text += "\n" + sentence(cause) + ".";
  return text;
}

report::Facts facts_of(const VerifyAnswer& answer) {
  const Verification& verification = answer.verification;
  report::Facts facts;
  facts.rows = {
      {"seeds", fmt::format("{} from {}, {}, {}", verification.seeds, answer.options.seed,
                            answer.options.device,
                            answer.options.single_precision ? "single precision" : "double")},
      {"band", fmt::format("{} x the standard error, that of the spread included, and the error of "
                           "the prediction",
                           report::format_number(verification.quantile, 4))},
      {"why so wide", fmt::format("{} right comparisons stay within theirs in {} runs of 100",
                                  verification.comparisons(),
                                  report::format_number(100 * verification.confidence, 4))}};
  return facts;
}

}  // namespace

std::string summary_line(const Verification& verification) {
  const std::size_t outside = verification.failures(), all = verification.comparisons();
  std::string text = fmt::format("{} comparisons of {} seeds: ", all, verification.seeds);
  text += outside == 0   ? "all within their bands"
          : outside == 1 ? std::string("1 is outside its band")
                         : fmt::format("{} are outside their bands", outside);
  if (!verification.worst) return text;
  return text + fmt::format("; worst z {} at {} {}",
                            report::format_number(verification.worst->z, 3),
                            verification.worst->path, verification.worst->quantity);
}

report::Document verify_document(const VerifyAnswer& answer) {
  const Verification& verification = answer.verification;
  report::Document document;
  document.command = "verify";
  add_model(answer.model, answer.spec, document.inputs);
  document.inputs["seeds"] = answer.options.seeds;
  document.inputs["seed"] = static_cast<std::int64_t>(answer.options.seed);
  document.inputs["device"] = answer.options.device;
  document.inputs["dtype"] = answer.options.single_precision ? "float" : "double";
  document.inputs["confidence"] = answer.options.confidence;
  Value& results = document.results;
  results["passed"] = verification.passed;
  results["summary"] = summary_line(verification);
  results["comparisons"] = static_cast<std::int64_t>(verification.comparisons());
  results["failures"] = static_cast<std::int64_t>(verification.failures());
  results["quantile"] = verification.quantile;
  results["worst"] = verification.worst ? comparison_value(*verification.worst) : Value();
  results["causes"] = causes_value(verification.causes);
  results["sites"] = comparisons_of(verification.sites);
  results["parameters"] = comparisons_of(verification.parameters);
  Value unmatched = Value::array();
  for (const std::string& path : verification.unmatched) unmatched.push_back(path);
  results["unmatched"] = unmatched;
  results["assumptions"] = assumptions_of(verification.assumptions);
  document.rows = csv_rows(verification);
  document.sections = {
      {fmt::format("{}: {}", base::shortened(answer.model), model_line(answer.spec)),
       facts_of(answer)},
      {"Sites", table_of(verification.sites)},
      along_depth(verification),
      {"Parameters", table_of(verification.parameters)},
      {"How far off", by_quantity(verification)}};
  if (!verification.passed && !verification.assumptions.empty())
    document.sections.push_back({"Taken for granted", assumptions_table(verification.assumptions)});
  document.sections.push_back(
      {verification.passed ? "Passed" : "Failed", report::Paragraph{outcome(verification)}});
  return document;
}

}  // namespace scalecalc::cli
