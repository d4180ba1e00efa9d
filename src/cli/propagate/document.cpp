#include "cli/propagate/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.hpp"
#include "cli/figures.hpp"
#include "cli/propagate/stack.hpp"

namespace scalecalc::cli {
namespace {

using report::Section;
using report::Table;
using report::Value;

/// A spread above which the mean over draws and a typical draw are shown apart.
constexpr double kVisibleSpread = 0.1;

Value known_value(const Figure& figure) {
  return figure.is_known() ? Value(figure.value) : Value();
}

/// None of one token, and where the tokens' second moment is 0 or has underflowed.
std::optional<double> known_cosine(const Site& site) {
  const double cosine = site.cosine();
  return std::isfinite(cosine) ? std::optional(cosine) : std::nullopt;
}
Value cosine_of(const Site& site) {
  const std::optional<double> cosine = known_cosine(site);
  return cosine ? Value(*cosine) : Value();
}

template <std::size_t size>
Value make_object(std::pair<const char*, Value> (&&members)[size]) {
  Value::Object object;
  object.reserve(size);
  for (auto& [name, value] : members) object.emplace_back(name, std::move(value));
  return object;
}

Value figures(const Site& site, NonNegative Figure::*part) {
  const auto of = [part](const Figure& figure) {
    return figure.is_known() ? Value(double{figure.*part}) : Value();
  };
  return make_object({{"mean", of(site.mean)},
                      {"second", of(site.second)},
                      {"cross", of(site.cross)},
                      {"grad_second", of(site.grad_second)},
                      {"grad_cross", of(site.grad_cross)}});
}

Value site_value(const Site& site) {
  return make_object({{"path", site.path},
                      {"kind", site.kind},
                      {"width", site.width},
                      {"tokens", site.tokens},
                      {"mean", known_value(site.mean)},
                      {"second", known_value(site.second)},
                      {"cross", known_value(site.cross)},
                      {"cosine", cosine_of(site)},
                      {"grad_second", known_value(site.grad_second)},
                      {"grad_cross", known_value(site.grad_cross)},
                      {"spread", double{site.spread}},
                      {"grad_spread", double{site.grad_spread}},
                      {"second_finite", site.second_finite},
                      {"second_typical", site.second_typical},
                      {"grad_second_finite", site.grad_second_finite},
                      {"error", figures(site, &Figure::error)},
                      {"truncation", figures(site, &Figure::truncation)}});
}

Value parameter_value(const ParameterMoments& parameter) {
  return make_object({{"path", parameter.path},
                      {"rows", parameter.rows},
                      {"columns", parameter.columns},
                      {"second", known_value(parameter.second)},
                      {"grad_second", known_value(parameter.grad_second)},
                      {"grad_spread", double{parameter.grad_spread}},
                      {"grad_second_finite", parameter.grad_second_finite},
                      {"grad_error", double{parameter.grad_second.error}},
                      {"grad_truncation", double{parameter.grad_second.truncation}}});
}

bool spread_is_visible(const Trace& trace) {
  return std::any_of(trace.sites.begin(), trace.sites.end(),
                     [](const Site& site) { return double{site.spread} > kVisibleSpread; });
}

Table sites_table(const Trace& trace) {
  std::vector<std::string> columns = {"site",        "second",     "cross", "cosine",
                                      "grad_second", "grad_cross", "spread"};
  const bool typical = spread_is_visible(trace);
  if (typical) columns.push_back("typical second");
  return stack_table(trace.sites, columns, [typical](const Site& site) {
    std::vector<Value> row = {
        site.path,          known_value(site.second),      known_value(site.cross),
        cosine_of(site),    known_value(site.grad_second), known_value(site.grad_cross),
        double{site.spread}};
    // Draws that part ways have none.
    if (typical) row.push_back(std::isnan(site.second_typical) ? Value() : site.second_typical);
    return row;
  });
}

Table parameters_table(const Trace& trace) {
  return stack_table(trace.parameters, {"parameter", "shape", "second", "grad_second"},
                     [](const ParameterMoments& parameter) {
                       return std::vector<Value>{
                           parameter.path,
                           fmt::format("{} x {}", parameter.rows, parameter.columns),
                           known_value(parameter.second), known_value(parameter.grad_second)};
                     });
}

/// What the middle of a long stack does, since the table leaves it out.
std::string between(const Trace& trace) {
  std::vector<std::string> paths;
  for (const Site& site : trace.sites) paths.push_back(site.path);
  std::string text;
  for (const StackLine& line : shorten_stack(paths)) {
    if (!line.left_out) continue;
    const Site& last = trace.sites[line.end - 1];
    const std::optional<double> of_last = known_cosine(last);
    const std::string cosine =
        of_last ? fmt::format("cosine {}, ", report::format_number(*of_last, 4)) : std::string();
    text += fmt::format("{}{} ends with second {}, {}grad_second {}.", text.empty() ? "" : "\n",
                        line.text.substr(4), report::format_number(last.second.value, 4), cosine,
                        report::format_number(last.grad_second.value, 4));
  }
  return text;
}

/// One row a site, then one a parameter.
Table csv_rows(const Trace& trace) {
  Table table{
      {"path", "kind", "mean", "second", "cross", "cosine", "grad_second", "grad_cross", "spread",
       "grad_spread", "second_finite", "second_typical", "second_error", "grad_second_error"},
      {}};
  for (const Site& site : trace.sites)
    table.rows.push_back({site.path, site.kind, known_value(site.mean), known_value(site.second),
                          known_value(site.cross), cosine_of(site), known_value(site.grad_second),
                          known_value(site.grad_cross), double{site.spread},
                          double{site.grad_spread}, site.second_finite, site.second_typical,
                          site.second.error + site.second.truncation,
                          site.grad_second.error + site.grad_second.truncation});
  for (const ParameterMoments& parameter : trace.parameters)
    table.rows.push_back({parameter.path,
                          "parameter",
                          {},
                          known_value(parameter.second),
                          {},
                          {},
                          known_value(parameter.grad_second),
                          {},
                          {},
                          double{parameter.grad_spread},
                          {},
                          {},
                          parameter.second.error + parameter.second.truncation,
                          parameter.grad_second.error + parameter.grad_second.truncation});
  return table;
}

std::string title_of(const PropagateAnswer& answer) {
  return fmt::format("{}: {}", base::shortened(answer.model), model_line(answer.spec));
}

report::Facts facts_of(const PropagateAnswer& answer) {
  report::Facts facts;
  facts.rows.push_back({"engine", answer.engine});
  if (answer.seeds > 0)
    facts.rows.push_back({"seeds", fmt::format("{} from {}", answer.seeds, answer.seed)});
  if (answer.samples > 0) facts.rows.push_back({"samples of an expectation", answer.samples});
  if (answer.trace.loss.is_known()) facts.rows.push_back({"loss", answer.trace.loss.value});
  return facts;
}

/// The document keeps the trace: its records become values as they are printed.
void fill_results(PropagateAnswer& answer, report::Document& document) {
  const auto kept = std::make_shared<const Trace>(std::move(answer.trace));
  const Trace& trace = *kept;
  document.results["sites"] =
      Value::List{trace.sites.size(), [kept](std::size_t i) { return site_value(kept->sites[i]); }};
  document.results["parameters"] = Value::List{trace.parameters.size(), [kept](std::size_t i) {
                                                 return parameter_value(kept->parameters[i]);
                                               }};
  document.results["loss"] = known_value(trace.loss);
  document.results["stacks"] = stacks_value(answer.stacks);
  document.results["verdicts"] = verdicts_value(answer.verdicts);
  document.results["assumptions"] = assumptions_of(trace.assumptions);
}

void fill_sections(const PropagateAnswer& answer, report::Document& document) {
  const Trace& trace = answer.trace;
  document.sections = {{title_of(answer), facts_of(answer)}, {"Sites", sites_table(trace)}};
  const std::string words = between(trace);
  if (!words.empty()) document.sections.push_back({"", report::Paragraph{words}});
  document.sections.push_back(along_depth(trace));
  document.sections.push_back({"Parameters", parameters_table(trace)});
  if (!answer.stacks.empty())
    document.sections.push_back({"What the sums keep", stacks_table(answer.stacks)});
  if (!answer.verdicts.empty())
    document.sections.push_back({"What depth does", verdicts_table(answer.verdicts)});
  Table changes = changes_table(answer.verdicts);
  if (!changes.rows.empty()) document.sections.push_back({"What would help", std::move(changes)});
  if (!trace.assumptions.empty())
    document.sections.push_back({"Taken for granted", assumptions_table(trace.assumptions)});
}

/// A deep network has tens of thousands of records, so only what the format shows is made.
void fill_trace(PropagateAnswer& answer, report::Format format, report::Document& document) {
  switch (format) {
    case report::Format::json: fill_results(answer, document); break;
    case report::Format::csv: document.rows = csv_rows(answer.trace); break;
    case report::Format::table:
    case report::Format::markdown:
    case report::Format::latex: fill_sections(answer, document); break;
  }
}

Value symbolic_value(const SymbolicSite& site) {
  Value value = Value::object();
  const auto formula = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  value["path"] = site.path;
  value["kind"] = site.kind;
  value["mean"] = Value();
  value["second"] = formula(site.second);
  value["cross"] = formula(site.cross);
  value["cosine"] = Value();
  value["grad_second"] = formula(site.grad_second);
  value["grad_cross"] = formula(site.grad_cross);
  for (const char* numeric : {"spread", "second_finite", "second_typical", "grad_second_finite"})
    value[numeric] = Value();
  value["note"] = site.note;
  return value;
}

/// What alike branches make of the stream, whatever is in them.
void fill_laws(const std::vector<SymbolicLaw>& laws, report::Document& document) {
  Value list = Value::array();
  report::Facts facts;
  for (const SymbolicLaw& law : laws) {
    const Value::Formula formula{law.formula, law.formula_latex};
    Value row = Value::object();
    row["name"] = law.name;
    row["meaning"] = law.meaning;
    row["formula"] = formula;
    list.push_back(std::move(row));
    facts.rows.push_back({law.meaning, Value(formula)});
  }
  document.results["laws"] = list;
  if (!laws.empty())
    document.sections.push_back({"After l alike branches, each of second moment branch", facts});
}

void fill_symbolic(const PropagateAnswer& answer, report::Document& document) {
  const auto formula = [](const std::string& text, const std::string& latex) {
    return text.empty() ? Value() : Value(Value::Formula{text, latex});
  };
  Value sites = Value::array();
  Table table{{"site", "second", "cross", "grad_second", "grad_cross", "note"}, {}};
  for (const SymbolicSite& site : answer.symbolic->sites) {
    sites.push_back(symbolic_value(site));
    table.rows.push_back({site.path, formula(site.second, site.second_latex),
                          formula(site.cross, {}),
                          formula(site.grad_second, site.grad_second_latex),
                          formula(site.grad_cross, {}), site.note});
  }
  document.results["sites"] = sites;
  document.results["parameters"] = Value::array();
  document.results["assumptions"] = assumptions_of(answer.symbolic->assumptions);
  document.rows = table;
  document.sections = {{title_of(answer), facts_of(answer)}};
  fill_laws(answer.symbolic->laws, document);
  for (const SymbolicSite& site : answer.symbolic->sites) {
    report::Facts facts;
    const auto add = [&](const char* name, const std::string& text, const std::string& latex) {
      if (!text.empty()) facts.rows.push_back({name, Value(Value::Formula{text, latex})});
    };
    add("second", site.second, site.second_latex);
    add("cross", site.cross, {});
    add("grad_second", site.grad_second, site.grad_second_latex);
    add("grad_cross", site.grad_cross, {});
    if (!site.note.empty()) facts.rows.push_back({"how", site.note});
    document.sections.push_back({site.path, facts});
  }
  if (!answer.symbolic->assumptions.empty())
    document.sections.push_back(
        {"Taken for granted", assumptions_table(answer.symbolic->assumptions)});
}

}  // namespace

report::Document propagate_document(PropagateAnswer answer, report::Format format) {
  report::Document document;
  document.command = "propagate";
  add_model(answer.model, answer.spec, document.inputs);
  document.inputs["engine"] = answer.engine;
  document.inputs["seed"] = static_cast<std::int64_t>(answer.seed);
  if (answer.seeds > 0) document.inputs["seeds"] = answer.seeds;
  if (answer.samples > 0) document.inputs["samples"] = answer.samples;
  answer.symbolic ? fill_symbolic(answer, document) : fill_trace(answer, format, document);
  if (answer.step) add_step(answer, format, document);
  if (answer.signs) add_forecast(answer, format, document);
  return document;
}

}  // namespace scalecalc::cli
