#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/app.hpp"
#include "cli/check/document.hpp"
#include "cli/options.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;
using Claims = std::vector<ClaimResult>;

/// Leaves room for where a statement comes from in a terminal of 100 columns.
constexpr std::size_t shown_name = 56;

/// Whether the claim is one of those that the name stands for: of several assertions, "name (2)".
bool is_named(const ClaimResult& claim, const std::string& name) {
  if (!claim.name.starts_with(name)) return false;
  const std::string rest = claim.name.substr(name.size());
  return rest.empty() || (rest.starts_with(" (") && rest.ends_with(")") &&
                          rest.find_first_not_of("0123456789", 2) == rest.size() - 1);
}

/// The numbers of the statements that this one follows from, counted from 1.
std::vector<std::size_t> premises(const Claims& claims, const ClaimResult& claim) {
  std::vector<std::size_t> numbers;
  for (std::size_t k = 0; k < claims.size(); ++k)
    for (const std::string& name : claim.follows)
      if (is_named(claims[k], name)) numbers.push_back(k + 1);
  return numbers;
}

std::string numbers_text(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k > 0) text += k + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(numbers[k]);
  }
  return text;
}

std::string truth_of(const ClaimResult& claim) {
  return claim.holds ? "holds" : "does not hold";
}

/// A counter-case is stated as what is not so.
report::Step step_of(const Claims& claims, const ClaimResult& claim) {
  std::string reason = "it " + truth_of(claim) + " (" + methods_text(claim) + ")";
  const std::vector<std::size_t> from = premises(claims, claim);
  if (!from.empty()) reason += ", and follows from " + numbers_text(from);
  if (!claim.expected_to_fail) return {claim.name, claim.assertion, "", reason, claim.condition};
  const std::string where = claim.condition.empty() ? "" : " (" + claim.condition + ")";
  return {claim.name + where, "not: " + claim.assertion, "", reason, ""};
}

/// The chain, a line a statement that others follow from or that follows from others.
report::Table chain_of(const Claims& claims) {
  report::Table table{{"", "statement", "verdict", "from", "leads to"}, {}};
  std::vector<std::vector<std::size_t>> from(claims.size()), onward(claims.size());
  for (std::size_t k = 0; k < claims.size(); ++k) {
    from[k] = premises(claims, claims[k]);
    for (const std::size_t premise : from[k]) onward[premise - 1].push_back(k + 1);
  }
  for (std::size_t k = 0; k < claims.size(); ++k)
    if (!from[k].empty() || !onward[k].empty())
      table.rows.push_back({static_cast<std::int64_t>(k + 1), claims[k].name, truth_of(claims[k]),
                            numbers_text(from[k]), numbers_text(onward[k])});
  return table;
}

Value statement_value(const Claims& claims, const ClaimResult& claim) {
  Value value = Value::object();
  value["statement"] = claim.name;
  value["assertion"] = claim.assertion;
  value["expected_to_fail"] = claim.expected_to_fail;
  value["condition"] = claim.condition;
  value["note"] = claim.note;
  value["holds"] = claim.holds;
  value["methods"] = Value::object();
  for (const MethodResult& method : claim.methods)
    value["methods"][to_string(method.method)] = method.how;
  value["follows"] = Value::array();
  for (const std::size_t premise : premises(claims, claim))
    value["follows"].push_back(static_cast<std::int64_t>(premise));
  return value;
}

report::Document explain_document(const Topic& topic, const ClaimsReport& report) {
  const ClaimsReport::File& file = report.files.front();
  report::Document document;
  document.command = "explain";
  document.inputs["topic"] = topic.name;
  document.rows.columns = {"statement", "assertion", "expected_to_fail",
                           "condition", "note",      "holds"};
  report::Derivation statements;
  Value values = Value::array();
  for (const ClaimResult& claim : file.claims) {
    document.rows.rows.push_back({claim.name, claim.assertion, claim.expected_to_fail,
                                  claim.condition, claim.note, claim.holds});
    statements.steps.push_back(step_of(file.claims, claim));
    values.push_back(statement_value(file.claims, claim));
  }
  document.results["title"] = file.title;
  document.results["passed"] = report.passed();
  document.results["statements"] = values;
  document.results["toml"] = std::string(topic.toml);
  document.sections = {{file.title, statements}};
  const report::Table chain = chain_of(file.claims);
  if (!chain.rows.empty()) document.sections.push_back({"How they follow from each other", chain});
  const std::string decided =
      report.passed()
          ? fmt::format("All {} statements hold.", report.count())
          : fmt::format("{} of {} statements do not hold.", report.failures(), report.count());
  document.sections.push_back(
      {"", report::Paragraph{decided + " Each is a claim of tables/claims, decided just now as CI "
                                       "decides it; scalecalc check FILE does so for yours."}});
  return document;
}

std::vector<std::string> topic_names() {
  std::vector<std::string> names;
  for (const Topic& entry : topics()) names.push_back(entry.name);
  return names;
}

int explain(const std::string& name, Context& context) {
  if (name.empty())
    throw Error(ErrorKind::usage, "explain what?", "scalecalc explain",
                "for example scalecalc explain norms (scalecalc list topics)");
  const Topic& asked = topic(name, "scalecalc explain");
  PassOptions passes;
  context.set_passes(passes);
  CheckOptions options;
  options.seed = passes.seed;
  options.threads = passes.threads;
  options.device = passes.device;
  options.progress = context.progress();
  const ClaimsReport report{{check_topic(asked, options)}};
  context.emit(explain_document(asked, report));
  return report.passed() ? 0 : 1;
}

}  // namespace

void register_explain(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, context,
      {.name = "explain",
       .summary = "what is claimed of a topic, as sentences, formulas "
                  "and verdicts",
       .examples = {"scalecalc explain norms", "scalecalc explain norms --format md -o norms.md"},
       .form = explain_form,
       .uses = {.seed = true, .threads = true, .device = true}},
      [&context, name] { return explain(*name, context); });
  const Options add{command};
  add.text("topic", *name, {"TOPIC", topic_names}, "one of scalecalc list topics");
}

}  // namespace scalecalc::cli
