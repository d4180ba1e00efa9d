#include "cli/table/tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "scalecalc/symbolic.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

constexpr double noise = 1e-15;

Value rounded_value(Value value, int digits) {
  if (const auto* number = std::get_if<double>(&value.data())) return rounded(*number, digits);
  return value;
}

}  // namespace

double rounded(double value, int digits) {
  if (std::abs(value) < noise) return 0;
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

report::Document table_document(const std::string& name, const std::string& title,
                                const std::string& words, report::Table table, int digits) {
  for (std::vector<Value>& row : table.rows)
    for (Value& value : row) value = rounded_value(std::move(value), digits);
  report::Document document;
  document.command = "table";
  document.inputs["name"] = name;
  document.results[name] = report::records(table);
  document.sections = {{title, report::Paragraph{words}}, {"", table}};
  document.rows = std::move(table);
  return document;
}

const std::vector<GeneratedTable>& generated_tables() {
  static const std::vector<GeneratedTable> all = {
      {"activations", "activations", "moments, gains and closed forms of every activation",
       activations_table_document},
      {"optimizers", "optimizers", "alpha and lambda of every optimizer family and placement",
       optimizers_table_document},
      {"schemes", "schemes", "what each residual scheme does to signal and gradient",
       schemes_table_document},
      {"init", "init", "how the parameters of every preset start", init_table_document},
      {"conventions", "conventions/conventions", "what lines of other frameworks really draw",
       conventions_table_document}};
  return all;
}

const GeneratedTable& generated_table(const std::string& name) {
  std::vector<std::string> names;
  for (const GeneratedTable& table : generated_tables()) {
    if (table.name == name) return table;
    names.push_back(table.name);
  }
  throw unknown_name("table", name, names, "scalecalc table");
}

}  // namespace scalecalc::cli
