#include <cmath>
#include <map>

#include "cli/table/tables.hpp"
#include "scalecalc/init.hpp"
#include "scalecalc/names.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

void add_rows(const std::string& preset_name, report::Table& table) {
  const InitPlan plan = init_plan(find_model(preset_name));
  std::map<std::string, std::size_t> rows;
  for (const PlannedParameter& parameter : plan.parameters) {
    const std::string pattern = path_pattern(parameter.path);
    const bool drawn = parameter.std > 0;
    const std::string key =
        pattern + to_string(parameter.start) + std::to_string(rounded(parameter.std));
    const auto [found, is_new] = rows.emplace(key, table.rows.size());
    if (is_new)
      table.rows.push_back(
          {preset_name, pattern, std::int64_t{0}, parameter.role,
           std::to_string(parameter.rows) + "x" + std::to_string(parameter.columns),
           to_string(parameter.start), drawn ? Value(parameter.std) : Value(),
           drawn && std::isfinite(parameter.bound) ? Value(parameter.bound) : Value(),
           drawn ? Value(parameter.formula) : Value()});
    Value& count = table.rows[found->second][2];
    count = std::get<std::int64_t>(count.data()) + 1;
  }
  for (const PlannedScale& scale : plan.scales)
    table.rows.push_back({preset_name, scale.pattern, Value(), scale.what, Value(), "factor",
                          scale.value, Value(), scale.formula});
}

}  // namespace

report::Document init_table_document() {
  report::Table table{
      {"preset", "parameters", "of", "role", "shape", "start", "std", "bound", "formula"}, {}};
  for (const Preset& preset : presets()) add_rows(preset.name, table);
  return table_document(
      "init", "How the parameters of every preset start",
      "Parameters that start alike are one row; factor rows are multipliers of the forward pass. "
      "scalecalc init PRESET --target pytorch writes a module that does it.",
      std::move(table));
}

}  // namespace scalecalc::cli
