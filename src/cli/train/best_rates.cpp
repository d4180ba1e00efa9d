#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/train/best.hpp"
#include "cli/train/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

/// "3: 0.0071, 12: 0.0040": the best rate by depth, and where it has no place of its own why.
std::string rates_text(const BestRateLaw& law) {
  std::string text;
  for (const BestRateLaw::AtDepth& depth : law.depths) {
    const CurveOptimum& best = depth.optimum;
    const std::string rate =
        std::isfinite(best.value)
            ? report::format_number(best.value, 2) +
                  (has_place(best.kind) ? "" : " (" + to_string(best.kind) + ")")
            : to_string(best.kind);
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", depth.layers, rate);
  }
  return text;
}

}  // namespace

report::Table rates_table(const BestAnswer& answer) {
  report::Table table{
      {"placement", "best lr by depth", "power of depth", "standard error", "transfer", "since"},
      {}};
  for (const BestRateLaw& law : answer.rates) {
    const TuningPrediction& solver = law.prediction;
    table.rows.push_back(
        {law.group, rates_text(law), known(law.law.exponent), known(law.law.standard_error),
         solver.exponent ? Value(solver.exponent->to_string()) : Value(), solver.because});
  }
  return table;
}

Value rates_value(const BestAnswer& answer) {
  Value list = Value::array();
  for (const BestRateLaw& law : answer.rates) {
    const TuningPrediction& solver = law.prediction;
    Value entry = Value::object(), depths = Value::array();
    entry["placement"] = law.group;
    entry["exponent"] = known(law.law.exponent);
    entry["standard_error"] = known(law.law.standard_error);
    entry["predicted"] = solver.exponent ? Value(solver.exponent->to_string()) : Value();
    entry["because"] = solver.because;
    for (const BestRateLaw::AtDepth& depth : law.depths) {
      Value one = Value::object();
      one["layers"] = depth.layers;
      one["lr"] = known(depth.optimum.value);
      one["log_error"] = known(depth.optimum.log_error);
      one["kind"] = to_string(depth.optimum.kind);
      depths.push_back(std::move(one));
    }
    entry["depths"] = std::move(depths);
    list.push_back(std::move(entry));
  }
  return list;
}

Shape rates_shape() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape depth = object({{"layers", count(), "the depth"},
                              {"lr", some, "the best; null: all diverged"},
                              {"log_error", some, "standard error of ln(lr); null: there is none"},
                              {"kind", one_of(optimum_kind_names()), "how it was found"}});
  return list(object({{"placement", text(), "what is compared"},
                      {"exponent", some, "of the best lr by depth; null of fewer than two"},
                      {"standard_error", some, "of that"},
                      {"predicted", power().or_null(), "by transfer; null: it has no rule"},
                      {"because", text(), "what binds it"},
                      {"depths", list(depth), "rising"}}));
}

}  // namespace scalecalc::cli
