#include "cli/check/mutants_document.hpp"

#include <fmt/format.h>

#include <map>

#include "base/text.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

template <class Visit>
void for_each_claim(const ClaimsReport& report, Visit visit) {
  for (const ClaimsReport::File& file : report.files)
    for (const ClaimResult& claim : file.claims) visit(claim);
}

Value mutant_value(const ClaimResult& claim, const MutantResult& mutant) {
  Value value = Value::object();
  value["claim"] = claim.name;
  value["file"] = claim.file;
  value["line"] = claim.line;
  value["mutation"] = mutant.mutation;
  value["text"] = mutant.assertion;
  value["survived"] = mutant.survived;
  value["refuted_by"] = mutant.survived ? Value() : Value(mutant.refuted_by);
  value["reason"] = mutant.reason.empty() ? Value() : Value(mutant.reason);
  return value;
}

Table counts(const ClaimsReport& report) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
  for_each_claim(report, [&](const ClaimResult& claim) {
    for (const MutantResult& mutant : claim.mutants) {
      found[mutant.mutation].first += 1;
      found[mutant.mutation].second += mutant.survived ? 1 : 0;
    }
  });
  Table table{{"mutation", "mutants", "refuted", "survive"}, {}};
  for (const auto& [mutation, count] : found)
    table.rows.push_back({mutation, count.first, count.first - count.second, count.second});
  return table;
}

report::Section survivor(const ClaimResult& claim) {
  report::Facts facts;
  facts.rows.emplace_back("assertion", base::printable(claim.assertion));
  facts.rows.emplace_back("at", fmt::format("{}:{}:{}", claim.file, claim.line, claim.column));
  for (const MutantResult& mutant : claim.mutants) {
    if (!mutant.survived) continue;
    facts.rows.emplace_back(mutant.mutation, base::printable(mutant.assertion));
    facts.rows.emplace_back("  reason", mutant.reason.empty() ? "none is written beside the claim"
                                                              : base::printable(mutant.reason));
  }
  for (const std::string& mutation : claim.unfounded)
    facts.rows.emplace_back(mutation, "a reason is written, and no such mutant survives");
  return {"Survives its mutation: " + base::shortened(claim.name), facts};
}

}  // namespace

void add_mutants(const ClaimsReport& report, report::Document& document) {
  Value mutants = Value::array();
  std::int64_t survivors = 0, count = 0;
  for_each_claim(report, [&](const ClaimResult& claim) {
    for (const MutantResult& mutant : claim.mutants) {
      mutants.push_back(mutant_value(claim, mutant));
      ++count;
      survivors += mutant.survived ? 1 : 0;
    }
  });
  document.results["mutants"] = mutants;
  document.results["survivors"] = survivors;
  document.results["surviving_claims"] = static_cast<std::int64_t>(report.surviving());
  document.results["unexplained"] = static_cast<std::int64_t>(report.unexplained());
  document.sections.push_back({"Mutants", counts(report)});
  for_each_claim(report, [&](const ClaimResult& claim) {
    if (claim.survivors() > 0 || !claim.unfounded.empty())
      document.sections.push_back(survivor(claim));
  });
  const double share = report.count() > 0 ? 100.0 * static_cast<double>(report.surviving()) /
                                                static_cast<double>(report.count())
                                          : 0;
  std::string text = fmt::format("{} mutants, {} of them survive, of {} claims ({:.1f}%).", count,
                                 survivors, report.surviving(), share);
  if (report.unexplained() > 0)
    text += fmt::format(" {} of these claims without a reason that fits.", report.unexplained());
  document.sections.push_back({"", report::Paragraph{text}});
}

}  // namespace scalecalc::cli
