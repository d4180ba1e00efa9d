#include "cli/table/tables.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

constexpr std::int64_t depths[] = {12, 100, 1000};

std::vector<Value> refused(const std::string& optimizer, const std::string& placement,
                           const std::string& why) {
  std::vector<Value> row = {optimizer, placement, Value(), Value(), Value()};
  for (std::size_t i = 0; i < 2 * std::size(depths); ++i) row.emplace_back();
  row.emplace_back(why);
  return row;
}

std::vector<Value> row_of(const std::string& optimizer, const std::string& placement) {
  ScalingProblem problem;
  problem.optimizer = optimizer;
  problem.placement = placement_from(placement);
  std::vector<Value> row = {optimizer, placement};
  try {
    for (const std::int64_t layers : depths) {
      problem.layers = layers;
      const ScalingSolution solution = solve_scaling(problem);
      if (row.size() == 2)
        row.insert(row.end(), {solution.constraint.to_string(), solution.alpha_formula,
                               solution.lambda_formula});
      row.emplace_back(solution.alpha.value);
      row.emplace_back(solution.lambda.value);
    }
  } catch (const Error& error) {
    return refused(optimizer, placement, error.message());
  }
  row.emplace_back();
  return row;
}

}  // namespace

report::Document optimizers_table_document() {
  report::Table table{
      {"optimizer", "placement", "constraint", "alpha", "lambda", "alpha_12", "lambda_12",
       "alpha_100", "lambda_100", "alpha_1000", "lambda_1000", "refused"},
      {}};
  for (const std::string& optimizer : family_names())
    for (const std::string& placement : placement_names())
      table.rows.push_back(row_of(optimizer, placement));
  return table_document(
      "optimizers", "alpha and lambda by optimizer and placement",
      "The pair for which the loss change of one step does not grow with depth, under the default "
      "constraint: formulas in N (layers of two branches each), and values at N = 12, 100, 1000. "
      "scalecalc deepnorm derives each one.",
      std::move(table));
}

}  // namespace scalecalc::cli
