#include "cli/audit/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "cli/propagate/document.hpp"
#include "cli/propagate/stack.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

constexpr std::size_t most_findings = 20;

Value text_or_null(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

bool is_measured(const AuditedParameter& parameter) {
  return parameter.sample.count > 0;
}

Value number_if(bool given, double value) {
  return given ? Value(value) : Value();
}

bool is_drawn(const AuditedParameter& parameter) {
  return is_measured(parameter) && parameter.standard_error > 0;
}

Value shape_value(const std::vector<std::int64_t>& shape) {
  Value list = Value::array();
  for (const std::int64_t size : shape) list.push_back(size);
  return list;
}

Value parameter_value(const AuditedParameter& parameter) {
  const Sample& sample = parameter.sample;
  const bool measured = is_measured(parameter);
  Value value = Value::object();
  value["path"] = parameter.name;
  value["part"] = text_or_null(parameter.part);
  value["parameter"] = text_or_null(parameter.path);
  value["dtype"] = text_or_null(parameter.dtype);
  value["shape"] = shape_value(parameter.shape);
  value["values"] = sample.count;
  value["mean"] = number_if(measured, sample.mean);
  value["std"] = number_if(measured, sample.std);
  value["min"] = number_if(measured, sample.min);
  value["max"] = number_if(measured, sample.max);
  value["kurtosis"] = number_if(measured && sample.std > 0, sample.kurtosis);
  value["beyond_2_std"] = number_if(measured, sample.beyond_2);
  value["beyond_3_std"] = number_if(measured, sample.beyond_3);
  value["nan"] = sample.nans;
  value["infinite"] = sample.infinities;
  value["distribution"] = text_or_null(parameter.distribution);
  const bool due = parameter.fault != Fault::unexpected;
  value["expected_distribution"] = due ? Value(to_string(parameter.expected)) : Value();
  value["expected_mean"] = number_if(due, parameter.expected_mean);
  value["expected_std"] = number_if(due, parameter.expected_std);
  value["expected_rule"] = text_or_null(parameter.expected_rule);
  value["standard_error"] = number_if(is_drawn(parameter), parameter.standard_error);
  value["z"] = number_if(is_drawn(parameter), parameter.z);
  value["band"] = number_if(is_drawn(parameter), parameter.band);
  value["rule"] = text_or_null(parameter.rule);
  value["fault"] = to_string(parameter.fault);
  value["ok"] = parameter.fault == Fault::none;
  value["verdict"] = parameter.verdict;
  value["remark"] = text_or_null(parameter.remark);
  return value;
}

std::string shown_name(const AuditedParameter& parameter) {
  const std::string name = base::shortened(parameter.name);
  return parameter.part.empty() ? name : name + " " + parameter.part;
}

/// "wrong std"; the findings say more.
std::string short_verdict(Fault fault) {
  if (fault == Fault::none) return "ok";
  std::string text = to_string(fault);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::vector<Value> row_of(const AuditedParameter& parameter) {
  const bool measured = is_measured(parameter), drawn = is_drawn(parameter);
  return {shown_name(parameter),
          number_if(measured, parameter.sample.mean),
          number_if(measured, parameter.sample.std),
          number_if(parameter.fault != Fault::unexpected, parameter.expected_std),
          drawn ? Value(std::round(parameter.z * 100) / 100) : Value(),
          text_or_null(parameter.distribution),
          text_or_null(parameter.rule),
          short_verdict(parameter.fault)};
}

std::string left_out_text(const StackLine& line, const std::vector<AuditedParameter>& parameters) {
  std::size_t faults = 0;
  for (std::size_t row = line.begin; row < line.end; ++row)
    if (parameters[row].fault != Fault::none) ++faults;
  return faults == 0 ? "all ok"
                     : fmt::format("{} of {} wrong alike", faults, line.end - line.begin);
}

/// The first of each fault at each place.
std::set<std::size_t> examples(const std::vector<AuditedParameter>& parameters) {
  std::set<std::tuple<std::string, std::string, Fault>> seen;
  std::set<std::size_t> rows;
  for (std::size_t row = 0; row < parameters.size(); ++row) {
    const AuditedParameter& p = parameters[row];
    if (p.fault != Fault::none &&
        seen.emplace(p.pattern.empty() ? p.name : p.pattern, p.part, p.fault).second)
      rows.insert(row);
  }
  return rows;
}

/// "h.3.ln_1.bias" as "h[3].ln_1.bias", a block of a stack.
std::string as_block(const std::string& name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const std::size_t end = name.find_first_not_of("0123456789", dot + 1);
    if (end == std::string::npos || end == dot + 1 || name[end] != '.') continue;
    return name.substr(0, dot) + "[" + name.substr(dot + 1, end - dot - 1) + "]" + name.substr(end);
  }
  return name;
}

/// Layers alike are cut; an example of what is wrong is always there.
Table table_of(const std::vector<AuditedParameter>& parameters) {
  std::vector<std::string> paths;
  for (const AuditedParameter& parameter : parameters)
    paths.push_back(as_block(parameter.path.empty() ? parameter.name : parameter.path));
  Table table{{"tensor", "mean", "std", "due", "z", "distribution", "rule", "verdict"}, {}};
  const std::set<std::size_t> kept = examples(parameters);
  for (const StackLine& line :
       shorten_stack(paths, [&](std::size_t row) { return kept.contains(row); })) {
    if (line.left_out)
      table.rows.push_back({line.text, {}, {}, {}, {}, "", "", left_out_text(line, parameters)});
    else
      table.rows.push_back(row_of(parameters[line.begin]));
  }
  return table;
}

Table csv_rows(const std::vector<AuditedParameter>& parameters) {
  Table table{{"path",
               "part",
               "parameter",
               "values",
               "mean",
               "std",
               "min",
               "max",
               "kurtosis",
               "beyond_2_std",
               "beyond_3_std",
               "distribution",
               "expected_std",
               "expected_rule",
               "standard_error",
               "z",
               "rule",
               "fault",
               "verdict",
               "remark"},
              {}};
  for (const AuditedParameter& p : parameters) {
    const bool measured = is_measured(p), drawn = is_drawn(p);
    table.rows.push_back({p.name,
                          p.part,
                          p.path,
                          p.sample.count,
                          number_if(measured, p.sample.mean),
                          number_if(measured, p.sample.std),
                          number_if(measured, p.sample.min),
                          number_if(measured, p.sample.max),
                          number_if(measured && p.sample.std > 0, p.sample.kurtosis),
                          number_if(measured, p.sample.beyond_2),
                          number_if(measured, p.sample.beyond_3),
                          p.distribution,
                          number_if(p.fault != Fault::unexpected, p.expected_std),
                          p.expected_rule,
                          number_if(drawn, p.standard_error),
                          number_if(drawn, p.z),
                          p.rule,
                          to_string(p.fault),
                          p.verdict,
                          p.remark});
  }
  return table;
}

Value findings_value(const std::vector<AuditFinding>& findings) {
  Value list = Value::array();
  for (const AuditFinding& finding : findings) {
    Value entry = Value::object();
    entry["fault"] = to_string(finding.fault);
    entry["what"] = finding.what;
    entry["count"] = static_cast<std::int64_t>(finding.count);
    entry["of"] = static_cast<std::int64_t>(finding.all);
    entry["verdict"] = finding.verdict;
    entry["first"] = finding.first;
    list.push_back(entry);
  }
  return list;
}

Value texts_value(const std::vector<std::string>& texts) {
  Value list = Value::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

std::string sentence(const AuditFinding& finding) {
  const std::string what = base::shortened(finding.what);
  const std::string verdict = base::shortened(finding.verdict, 200);
  if (finding.all == 1) return fmt::format("{}: {}.", what, verdict);
  if (finding.count == finding.all)
    return fmt::format("{}, all {}: {}.", what, finding.all, verdict);
  return fmt::format("{}, {} of {} ({}{}): {}.", what, finding.count, finding.all,
                     base::shortened(finding.first), finding.count > 1 ? ", ..." : "", verdict);
}

std::size_t faults_of(const Audit& audit) {
  std::size_t faults = 0;
  for (const AuditedParameter& parameter : audit.parameters)
    if (parameter.fault != Fault::none) ++faults;
  return faults;
}

std::string findings_text(const Audit& audit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(audit.findings.size(), most_findings); ++i)
    text += sentence(audit.findings[i]) + "\n";
  if (audit.findings.size() > most_findings)
    text += fmt::format("and {} more findings: --format json has them all.\n",
                        audit.findings.size() - most_findings);
  for (const std::string& conclusion : audit.conclusions) text += conclusion + ".\n";
  text.pop_back();
  return text;
}

std::string summary_of(const Audit& audit) {
  const std::size_t faults = faults_of(audit), all = audit.parameters.size();
  if (faults == 0) return fmt::format("All {} parameters start as they should.", all);
  return fmt::format("{} of {} parameters do not start as they should.", faults, all);
}

std::string outcome(const Audit& audit) {
  std::string text = summary_of(audit);
  for (const std::string& remark : audit.remarks)
    text += "\nNote: " + base::shortened(remark, 240) + ".";
  std::set<std::string> reasons;
  for (const SkippedTensor& skipped : audit.skipped)
    if (reasons.insert(skipped.why).second)
      text += fmt::format("\nNot judged: {} ({}).", base::shortened(skipped.name),
                          base::shortened(skipped.why));
  return text;
}

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string model_text_of(const AuditAnswer& answer) {
  if (!answer.library) return base::shortened(answer.model) + ": " + model_line(answer.spec);
  const LibraryModel& library = *answer.library;
  if (!answer.recognised) return base::shortened(answer.model) + ": " + library.class_name;
  return library.class_name + " (" + library.architecture + "), by names and shapes";
}

std::string rules_text(const AuditAnswer& answer) {
  const std::string who = answer.library ? answer.library->library
                          : answer.against == "derived"
                              ? "what scalecalc plans for a model without [init]"
                              : "the model's [init]";
  return answer.against + ": " + who +
         (answer.others.empty() ? "" : "; --against takes " + listed(answer.others) + " too");
}

/// What a file without a config leaves open.
void add_assumptions(const AuditAnswer& answer, report::Facts& facts) {
  if (!answer.recognised || !answer.library) return;
  const LibraryModel& library = *answer.library;
  if (!library.alike.empty())
    facts.rows.push_back({"alike", listed(library.alike) + ": the same tensors and rules"});
  if (!answer.less_likely.empty())
    facts.rows.push_back({"unlike", listed(answer.less_likely) +
                                        ": the same tensors, but no fewer are wrong by its rules"});
  if (!library.taken.empty())
    facts.rows.push_back({"taken", listed(library.taken) + ": a config.json would tell"});
}

report::Facts facts_of(const AuditAnswer& answer) {
  const Audit& audit = answer.audit;
  report::Facts facts;
  facts.rows = {
      {"model", model_text_of(answer)},
      {"rules", rules_text(answer)},
      {"names", audit.naming},
      {"read",
       fmt::format("{} values, {:.1f} MB", audit.values, static_cast<double>(audit.bytes) / 1e6)},
      {"band", fmt::format("{} standard errors: right weights pass all {} comparisons in {} runs "
                           "of 100",
                           report::format_number(audit.quantile, 3), audit.comparisons,
                           report::format_number(100 * audit.confidence, 4))}};
  add_assumptions(answer, facts);
  return facts;
}

}  // namespace

report::Document audit_document(const AuditAnswer& answer) {
  const Audit& audit = answer.audit;
  report::Document document;
  document.command = "audit";
  document.inputs["weights"] = base::shortened(answer.weights);
  if (answer.library) {
    document.inputs["model"] =
        answer.model.empty() ? Value() : Value(base::shortened(answer.model));
    document.inputs["architecture"] = answer.library->architecture;
    document.inputs["class"] = answer.library->class_name;
    document.inputs["library"] = answer.library->library;
  } else {
    add_model(answer.model, answer.spec, document.inputs);
  }
  document.inputs["against"] = answer.against;
  document.inputs["names"] = text_or_null(answer.options.names);
  document.inputs["confidence"] = answer.options.confidence;
  document.inputs["strict"] = answer.options.strict;
  Value& results = document.results;
  results["passed"] = audit.passed;
  results["summary"] = summary_of(audit);
  results["names"] = audit.naming;
  results["against"] = answer.against;
  results["other_rules"] = texts_value(answer.others);
  if (answer.recognised && answer.library) {
    results["recognised"] = answer.library->architecture;
    results["alike"] = texts_value(answer.library->alike);
    results["taken"] = texts_value(answer.library->taken);
  }
  results["faults"] = static_cast<std::int64_t>(faults_of(audit));
  results["findings"] = findings_value(audit.findings);
  results["conclusions"] = texts_value(audit.conclusions);
  results["remarks"] = texts_value(audit.remarks);
  results["comparisons"] = static_cast<std::int64_t>(audit.comparisons);
  results["quantile"] = audit.quantile;
  results["values"] = audit.values;
  results["bytes"] = static_cast<std::int64_t>(audit.bytes);
  Value list = Value::array();
  for (const AuditedParameter& parameter : audit.parameters)
    list.push_back(parameter_value(parameter));
  results["parameters"] = list;
  Value skipped = Value::array();
  for (const SkippedTensor& tensor : audit.skipped) {
    Value entry = Value::object();
    entry["path"] = tensor.name;
    entry["why"] = tensor.why;
    skipped.push_back(entry);
  }
  results["skipped"] = skipped;
  document.rows = csv_rows(audit.parameters);
  if (!audit.findings.empty())
    document.sections.push_back({"Findings", report::Paragraph{findings_text(audit)}});
  document.sections.push_back({base::shortened(answer.weights), facts_of(answer)});
  document.sections.push_back({"Parameters", table_of(audit.parameters)});
  document.sections.push_back(
      {audit.passed ? "Passed" : "Failed", report::Paragraph{outcome(audit)}});
  return document;
}

}  // namespace scalecalc::cli
