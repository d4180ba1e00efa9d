#include "cli/check/document.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/check/mutants_document.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;
using Verdict = MethodResult::Verdict;

/// Leaves room for the methods in a terminal of 100 columns.
constexpr std::size_t shown_length = 58;

Value optional_number(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}
Value or_null(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return "holds";
    case Verdict::fails: return "fails";
    case Verdict::open: break;
  }
  return "open";
}

Value method_value(const MethodResult& method) {
  Value value = Value::object();
  value["verdict"] = verdict_name(method.verdict);
  value["proved"] = method.proved;
  value["how"] = method.how;
  value["left"] = method.left;
  value["right"] = method.right;
  value["value"] = optional_number(method.left_value);
  value["right_value"] = optional_number(method.right_value);
  value["difference"] = optional_number(method.difference);
  value["error"] = optional_number(method.error);
  value["difference_formula"] = or_null(method.difference_formula);
  value["point"] = or_null(method.point);
  value["points"] = method.points > 0 ? Value(static_cast<std::int64_t>(method.points)) : Value();
  return value;
}

Value claim_value(const ClaimResult& claim) {
  Value value = Value::object();
  value["name"] = claim.name;
  value["holds"] = claim.holds;
  value["verdict"] = verdict_of(claim);
  value["assertion"] = claim.assertion;
  value["expected_to_fail"] = claim.expected_to_fail;
  value["file"] = claim.file;
  value["line"] = claim.line;
  value["column"] = claim.column;
  value["condition"] = or_null(claim.condition);
  value["note"] = or_null(claim.note);
  value["source"] = or_null(claim.source);
  value["methods"] = Value::object();
  for (const MethodResult& method : claim.methods)
    value["methods"][to_string(method.method)] = method_value(method);
  value["skipped"] = Value::object();
  for (const auto& [method, reason] : claim.skipped) value["skipped"][to_string(method)] = reason;
  value["follows"] = Value::array();
  for (const std::string& premise : claim.follows) value["follows"].push_back(premise);
  value["seconds"] = claim.seconds;
  return value;
}

Value finding_value(const ClaimResult& claim) {
  const Finding& finding = *claim.finding;
  Value value = Value::object();
  value["name"] = claim.name;
  value["finding"] = finding.finding;
  value["published"] = finding.published;
  value["published_value"] = optional_number(finding.published_value);
  value["truth"] = finding.truth;
  value["true_value"] = optional_number(finding.true_value);
  value["off"] = optional_number(finding.off);
  value["source"] = or_null(claim.source);
  value["holds"] = claim.holds;
  return value;
}

Table overview(const ClaimsReport::File& file) {
  Table table{{"claim", "holds", "by"}, {}};
  for (const ClaimResult& claim : file.claims)
    table.rows.push_back({base::shortened(claim.name, shown_length), claim.holds ? "yes" : "NO",
                          methods_text(claim) + (claim.expected_to_fail ? " (counter-case)" : "")});
  return table;
}

report::Section failure(const ClaimResult& claim) {
  report::Facts facts;
  facts.rows.emplace_back("assertion", base::printable(claim.assertion));
  facts.rows.emplace_back("at", fmt::format("{}:{}:{}", claim.file, claim.line, claim.column));
  if (claim.expected_to_fail) facts.rows.emplace_back("claim", "this does not hold");
  for (const auto& [name, text] :
       {std::pair{"condition", &claim.condition}, {"note", &claim.note}, {"source", &claim.source}})
    if (!text->empty()) facts.rows.emplace_back(name, base::printable(*text));
  for (const MethodResult& method : claim.methods) {
    const std::string name = to_string(method.method);
    facts.rows.emplace_back(name, fmt::format("{} ({})", verdict_name(method.verdict), method.how));
    facts.rows.emplace_back("  left", method.left);
    facts.rows.emplace_back("  right", method.right);
    if (!method.difference_formula.empty())
      facts.rows.emplace_back("  left - right", method.difference_formula);
    else
      facts.rows.emplace_back("  left - right", optional_number(method.difference));
    if (!method.point.empty()) facts.rows.emplace_back("  where", method.point);
    if (method.points > 0 && !method.difference_formula.empty() && method.left_value &&
        method.right_value)
      facts.rows.emplace_back("  there", fmt::format("left {:.12g}, right {:.12g}",
                                                     *method.left_value, *method.right_value));
  }
  return {"Does not hold: " + base::shortened(claim.name), facts};
}

Table findings_table(const ClaimsReport& report) {
  Table table{{"published claim", "finding", "published", "true", "off"}, {}};
  for (const ClaimsReport::File& file : report.files)
    for (const ClaimResult& claim : file.claims) {
      if (!claim.finding) continue;
      const Finding& finding = *claim.finding;
      table.rows.push_back(
          {base::shortened(claim.name), finding.finding,
           finding.published_value ? Value(*finding.published_value) : Value(finding.published),
           finding.true_value ? Value(*finding.true_value) : Value(finding.truth),
           optional_number(finding.off)});
    }
  return table;
}

void add_json(const ClaimsReport& report, report::Document& document) {
  Value claims = Value::array(), findings = Value::array();
  for (const ClaimsReport::File& file : report.files)
    for (const ClaimResult& claim : file.claims) {
      claims.push_back(claim_value(claim));
      if (claim.finding) findings.push_back(finding_value(claim));
    }
  document.results["passed"] = report.passed();
  document.results["count"] = static_cast<std::int64_t>(report.count());
  document.results["failures"] = static_cast<std::int64_t>(report.failures());
  document.results["claims"] = claims;
  document.results["findings"] = findings;
}

void add_rows(const ClaimsReport& report, report::Document& document) {
  document.rows.columns = {"file",   "line", "name",  "holds",      "method", "verdict",
                           "proved", "left", "right", "difference", "error",  "point"};
  for (const ClaimsReport::File& file : report.files)
    for (const ClaimResult& claim : file.claims)
      for (const MethodResult& m : claim.methods)
        document.rows.rows.push_back({claim.file, claim.line, claim.name, claim.holds,
                                      to_string(m.method), verdict_name(m.verdict), m.proved,
                                      m.left, m.right,
                                      m.difference_formula.empty() ? optional_number(m.difference)
                                                                   : Value(m.difference_formula),
                                      optional_number(m.error), m.point});
}

}  // namespace

std::string methods_text(const ClaimResult& claim) {
  std::string text;
  for (const MethodResult& method : claim.methods) {
    std::string word = to_string(method.method);
    if (method.method == ClaimMethod::symbolic) {
      const bool refuted = method.verdict == Verdict::fails;
      word = method.proved ? (refuted ? "refuted" : "proved") : (refuted ? "fails" : "checked");
    } else if (method.verdict != Verdict::holds) {
      word += method.verdict == Verdict::fails ? " differs" : " open";
    }
    if (method.points > 0 && method.verdict == Verdict::holds && !method.proved)
      word += fmt::format(" at {} point{}", method.points, method.points == 1 ? "" : "s");
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

report::Document check_document(const ClaimsReport& report, bool mutate) {
  report::Document document;
  document.command = "check";
  document.inputs["files"] = Value::array();
  for (const ClaimsReport::File& file : report.files)
    document.inputs["files"].push_back(base::shortened(file.path));
  add_json(report, document);
  add_rows(report, document);
  for (const ClaimsReport::File& file : report.files)
    document.sections.push_back(
        {base::shortened(file.title.empty() ? file.path : file.title), overview(file)});
  for (const ClaimsReport::File& file : report.files)
    for (const ClaimResult& claim : file.claims)
      if (!claim.holds) document.sections.push_back(failure(claim));
  const Table findings = findings_table(report);
  if (!findings.rows.empty()) document.sections.push_back({"Published claims", findings});
  const std::size_t failures = report.failures();
  const std::string summary =
      failures == 0 ? fmt::format("{} claims, all hold.", report.count())
                    : fmt::format("{} claims, {} of them do not hold.", report.count(), failures);
  document.sections.push_back({"", report::Paragraph{summary}});
  if (mutate) add_mutants(report, document);
  return document;
}

}  // namespace scalecalc::cli
