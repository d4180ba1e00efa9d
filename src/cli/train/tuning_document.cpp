#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "cli/train/tuning.hpp"

namespace scalecalc::cli {
namespace {

using report::Facts;
using report::Table;
using report::Value;

Value finite(double value) {
  return std::isfinite(value) ? Value(value) : Value();
}

double loss_error(const CurvePoint& point) {
  return point.diverged() || point.losses.size() < 2 ? std::nan("")
                                                     : base::error_of_mean(point.losses);
}

std::int64_t count_of(const CurvePoint& point, bool diverged) {
  return std::ranges::count_if(point.losses,
                               [diverged](double loss) { return std::isfinite(loss) != diverged; });
}

Value optimum_value(const CurveOptimum& optimum) {
  Value value = Value::object();
  value["kind"] = to_string(optimum.kind);
  value["value"] = finite(optimum.value);
  value["log_standard_error"] = finite(optimum.log_error);
  value["loss"] = finite(optimum.loss);
  value["curvature"] = finite(optimum.curvature);
  value["rival"] = finite(optimum.rival);
  return value;
}

Value values_value(const std::vector<std::pair<std::string, double>>& values) {
  Value made = Value::object();
  for (const auto& [key, value] : values) made[key] = value;
  return made;
}

Value size_value(const TunedSize& size) {
  Value value = Value::object(), points = Value::array();
  value["width"] = size.width;
  value["layers"] = size.layers;
  value["optimum"] = size.optimum ? optimum_value(*size.optimum) : Value();
  for (const CurvePoint& point : size.curve) {
    Value entry = Value::object();
    entry["value"] = point.value;
    entry["loss"] = finite(point.mean());
    entry["standard_error"] = finite(loss_error(point));
    entry["seeds"] = static_cast<std::int64_t>(point.losses.size());
    entry["diverged"] = count_of(point, true);
    points.push_back(entry);
  }
  value["points"] = points;
  return value;
}

Value law_value(const TunedLaw& law) {
  Value value = Value::object(), best = Value::array();
  value["steps"] = law.steps;
  value["exponent"] = finite(law.law.exponent);
  value["standard_error"] = finite(law.law.standard_error);
  value["fitted_sizes"] = static_cast<std::int64_t>(law.law.sizes);
  for (const auto& optimum : law.optima)
    best.push_back(optimum ? optimum_value(*optimum) : Value());
  value["optima"] = best;
  return value;
}

Value curves_value(const TunedCurves& curves) {
  Value value = Value::object(), sizes = Value::array();
  value["axis"] = to_string(curves.axis);
  value["others"] = values_value(curves.others);
  value["exponent"] = finite(curves.law.exponent);
  value["standard_error"] = finite(curves.law.standard_error);
  value["fitted_sizes"] = static_cast<std::int64_t>(curves.law.sizes);
  value["predicted"] =
      curves.prediction.exponent ? Value(curves.prediction.exponent->to_string()) : Value();
  value["because"] = curves.prediction.because;
  for (const TunedSize& size : curves.sizes) sizes.push_back(size_value(size));
  value["sizes"] = sizes;
  Value course = Value::array();
  for (const TunedLaw& law : curves.course) course.push_back(law_value(law));
  value["course"] = course;
  return value;
}

std::string axis_title(GrowthAxis axis) {
  return axis == GrowthAxis::width ? "width" : "layers";
}

/// ", decay 0.1": numbers beside the one that is searched.
std::string others_text(const TunedCurves& curves) {
  std::string text;
  for (const auto& [key, value] : curves.others)
    text += fmt::format(", {} {}", key, report::format_number(value));
  return text;
}

std::string with_error(double value, double error) {
  const std::string text = fmt::format("{:.2f}", value);
  return std::isfinite(error) ? fmt::format("{} +- {:.2f}", text, error) : text;
}

std::string measured_text(const TunedCurves& curves) {
  if (std::isfinite(curves.law.exponent))
    return fmt::format("{}, of {} sizes",
                       with_error(curves.law.exponent, curves.law.standard_error),
                       curves.law.sizes);
  return fmt::format("none: {} of {} sizes {} a minimum inside of the grid", curves.law.sizes,
                     curves.sizes.size(), curves.law.sizes == 1 ? "has" : "have");
}

std::string predicted_text(const TunedCurves& curves) {
  const TuningPrediction& prediction = curves.prediction;
  return (prediction.exponent ? prediction.exponent->to_string() : std::string("none")) + ": " +
         prediction.because;
}

/// A line a step: what runs that end there find.
Table course_table(const TuningAnswer& answer, const TunedCurves& curves) {
  Table table{{"steps", "power", "+-", "sizes"}, {}};
  for (const TunedSize& size : curves.sizes)
    table.columns.push_back(
        fmt::format("best {} at {}", answer.setup.keys.front(), curves.size_of(size)));
  for (const TunedLaw& law : curves.course) {
    const auto decimals = [](double value) {
      return std::isfinite(value) ? Value(fmt::format("{:.2f}", value)) : Value();
    };
    std::vector<Value> row = {law.steps, decimals(law.law.exponent),
                              decimals(law.law.standard_error),
                              static_cast<std::int64_t>(law.law.sizes)};
    for (const auto& optimum : law.optima)
      row.push_back(optimum && has_place(optimum->kind)
                        ? Value(report::format_number(optimum->value, 3))
                        : Value());
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What is to be known of a size beside its numbers.
std::string remark_of(const TunedSize& size) {
  if (!size.optimum) return "too few runs";
  std::string text;
  switch (size.optimum->kind) {
    case OptimumKind::inside: break;
    case OptimumKind::lower_edge: text = "at the lower edge of the grid"; break;
    case OptimumKind::upper_edge: text = "at the upper edge of the grid"; break;
    case OptimumKind::at_divergence:
      text = "beside a value that diverged: between its neighbours";
      break;
    case OptimumKind::flat_bottom: text = "a flat bottom: between what lies above it"; break;
    case OptimumKind::not_convex: text = "no minimum within the errors"; break;
    case OptimumKind::diverged: text = "every value diverged"; break;
  }
  if (!std::isnan(size.optimum->rival))
    text += fmt::format("{}as good at {}", text.empty() ? "" : "; ",
                        report::format_number(size.optimum->rival, 3));
  return text;
}

Table optimum_table(const TuningAnswer& answer, const TunedCurves& curves) {
  Table table{{axis_title(curves.axis), "best " + answer.setup.keys.front(), "from", "to", "loss",
               "remark"},
              {}};
  for (const TunedSize& size : curves.sizes) {
    std::vector<Value> row = {static_cast<std::int64_t>(curves.size_of(size))};
    if (size.optimum && std::isfinite(size.optimum->value)) {
      const CurveOptimum& best = *size.optimum;
      row.emplace_back(report::format_number(best.value, 3));
      for (const double side : {-1.0, 1.0})
        row.push_back(
            std::isfinite(best.log_error)
                ? Value(report::format_number(best.value * std::exp(side * best.log_error), 3))
                : Value());
      row.emplace_back(fmt::format("{:.4f}", best.loss));
    } else {
      row.resize(5);
    }
    row.emplace_back(remark_of(size));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Losses by value, a column a size.
Table loss_table(const TuningAnswer& answer, const TunedCurves& curves) {
  Table table{{answer.setup.keys.front()}, {}};
  table.key_columns = 1;
  std::vector<double> values;
  for (const TunedSize& size : curves.sizes) {
    table.columns.push_back(fmt::format("{} {}", axis_title(curves.axis), curves.size_of(size)));
    for (const CurvePoint& point : size.curve) values.push_back(point.value);
  }
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  for (const double value : values) {
    std::vector<Value> row = {value};
    for (const TunedSize& size : curves.sizes) {
      const auto point = std::ranges::find(size.curve, value, &CurvePoint::value);
      if (point == size.curve.end() || point->losses.empty()) {
        row.emplace_back();
      } else if (point->diverged()) {
        row.emplace_back(
            fmt::format("{}/{} diverged", count_of(*point, true), point->losses.size()));
      } else {
        const double error = loss_error(*point);
        row.emplace_back(fmt::format("{:.4f}", point->mean()) +
                         (std::isfinite(error) ? fmt::format(" +- {:.4f}", error) : ""));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string rates_text(const TuningSetup& setup) {
  return setup.rates == RateSharing::shared ? "one for all parameters and sizes"
                                            : "each parameter's own, by the solver";
}

Facts law_facts(const TuningAnswer& answer, const TunedCurves& curves) {
  Facts facts;
  facts.rows = {
      {"power of the " + axis_title(curves.axis), measured_text(curves)},
      {"by the solver", predicted_text(curves)},
      {"optimizer", answer.optimizer},
      {"parametrization", answer.setup.parametrization == "own" ? "the model's own inits"
                                                                : answer.setup.parametrization},
      {"rates", rates_text(answer.setup)},
      {"steps", answer.steps}};
  return facts;
}

/// Of several numbers beside the one that is searched: the best of all.
Table best_table(const TuningAnswer& answer) {
  Table table{{"axis", "size"}, {}};
  for (const std::string& key : answer.setup.keys) table.columns.push_back(key);
  table.columns.emplace_back("loss");
  for (const TuningPrediction& prediction : answer.setup.predictions) {
    std::vector<std::pair<double, std::vector<Value>>> best;  // by size
    std::vector<double> losses;
    for (const TunedCurves& curves : answer.curves) {
      if (curves.axis != prediction.axis) continue;
      for (const TunedSize& size : curves.sizes) {
        if (!size.optimum || !std::isfinite(size.optimum->loss)) continue;
        const double at = curves.size_of(size);
        auto found = std::ranges::find_if(best, [&](const auto& row) { return row.first == at; });
        const auto index = static_cast<std::size_t>(found - best.begin());
        if (found != best.end() && losses[index] <= size.optimum->loss) continue;
        std::vector<Value> row = {to_string(curves.axis), static_cast<std::int64_t>(at),
                                  report::format_number(size.optimum->value, 3)};
        for (const auto& [key, value] : curves.others) row.emplace_back(value);
        row.emplace_back(fmt::format("{:.4f}", size.optimum->loss));
        if (found == best.end()) {
          best.emplace_back(at, std::move(row));
          losses.push_back(size.optimum->loss);
        } else {
          best[index].second = std::move(row);
          losses[index] = size.optimum->loss;
        }
      }
    }
    for (auto& [size, row] : best) table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

TuningAnswer tuning_answer(TuningSetup setup, std::vector<TrainRun> runs, std::string optimizer,
                           std::int64_t steps) {
  TuningAnswer answer{std::move(setup), std::move(runs), std::move(optimizer), steps, {}};
  answer.curves = tuned_curves(answer.setup, answer.runs);
  return answer;
}

TuningAnswer tuning_answer(const TrainFolder& folder) {
  std::vector<TrainRun> finished;
  for (std::size_t i = 0; i < folder.runs.size(); ++i)
    if (folder.finished[i]) finished.push_back(folder.runs[i]);
  return tuning_answer(tuning_setup(folder), std::move(finished), optimizer_text(folder.optimizer),
                       folder.steps);
}

report::Value tuning_value(const TuningAnswer& answer) {
  const TuningSetup& setup = answer.setup;
  Value value = Value::object(), keys = Value::array(), curves = Value::array(),
        runs = Value::array();
  for (const std::string& key : setup.keys) keys.push_back(key);
  value["keys"] = keys;
  value["parametrization"] = setup.parametrization;
  value["rates"] = rate_sharing_names()[static_cast<std::size_t>(setup.rates)];
  value["base"] = Value::object();
  value["base"]["width"] = setup.base_width;
  value["base"]["layers"] = setup.base_layers;
  for (const TunedCurves& of : answer.curves) curves.push_back(curves_value(of));
  value["curves"] = curves;
  for (const TrainRun& run : answer.runs) {
    Value entry = Value::object();
    entry["width"] = run.place.width;
    entry["layers"] = run.layers;
    entry["values"] = values_value(run.place.values);
    entry["seed"] = static_cast<std::int64_t>(run.seed);
    entry["verdict"] = to_string(run.verdict);
    entry["final_loss"] = finite(run.final_loss);
    entry["steps"] = run.steps;
    runs.push_back(entry);
  }
  value["runs"] = runs;
  return value;
}

report::Table tuning_rows(const TuningAnswer& answer) {
  Table table{{"axis", "width", "layers"}, {}};
  for (std::size_t i = 1; i < answer.setup.keys.size(); ++i)
    table.columns.push_back(answer.setup.keys[i]);
  table.columns.insert(table.columns.end(),
                       {answer.setup.keys.front(), "loss", "standard_error", "seeds", "diverged"});
  for (const TunedCurves& curves : answer.curves)
    for (const TunedSize& size : curves.sizes)
      for (const CurvePoint& point : size.curve) {
        std::vector<Value> row = {to_string(curves.axis), size.width, size.layers};
        for (const auto& [key, value] : curves.others) row.emplace_back(value);
        row.insert(row.end(),
                   {point.value, finite(point.mean()), finite(loss_error(point)),
                    static_cast<std::int64_t>(point.losses.size()), count_of(point, true)});
        table.rows.push_back(std::move(row));
      }
  return table;
}

std::vector<report::Section> tuning_sections(const TuningAnswer& answer) {
  std::vector<report::Section> sections;
  const std::string& key = answer.setup.keys.front();
  for (const TunedCurves& curves : answer.curves) {
    const std::string axis = axis_title(curves.axis);
    sections.push_back({fmt::format("The best {} by {}{}", key, axis, others_text(curves)),
                        law_facts(answer, curves)});
    sections.push_back({"", optimum_table(answer, curves)});
    sections.push_back(
        {fmt::format("Validation loss by {} and {}{}", key, axis, others_text(curves)),
         loss_table(answer, curves)});
    if (!curves.course.empty())
      sections.push_back({fmt::format("The power of the {} by steps{}", axis, others_text(curves)),
                          course_table(answer, curves)});
  }
  if (answer.setup.keys.size() > 1) sections.push_back({"The best of all", best_table(answer)});
  return sections;
}

Shape tuning_shape() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape point = object({{"value", number(), "of what is searched"},
                              {"loss", some, "mean over seeds; null: one diverged"},
                              {"standard_error", some, "of that mean; null of one seed"},
                              {"seeds", count(), "that every value of the size has"},
                              {"diverged", count(), "of them"}});
  const Shape optimum =
      object({{"kind", one_of(optimum_kind_names()), "how the minimum was found"},
              {"value", some, "the vertex of a parabola, or the best of the grid"},
              {"log_standard_error", some, "of the logarithm of value; null where it is unknown"},
              {"loss", some, "there"},
              {"curvature", some, "second derivative by the logarithm; null without a parabola"},
              {"rival", some, "another minimum that is as good within two standard errors"}});
  const Shape size = object({{"width", count(), "of the model"},
                             {"layers", count(), "likewise"},
                             {"optimum", optimum.or_null(), "null: too few runs"},
                             {"points", list(point), "in rising order"}});
  const Shape law = object({{"steps", count(), "of runs that would end there"},
                            {"exponent", some, "power of the size that their optimum goes with"},
                            {"standard_error", some, "of it"},
                            {"fitted_sizes", count(), "that have a minimum inside of the grid"},
                            {"optima", list(optimum.or_null()), "by size"}});
  const Shape curves =
      object({{"axis", one_of(growth_axis_names()), "that grows"},
              {"others", map(number()), "numbers of the grid beside the one that is searched"},
              {"exponent", some, "power of the size that the optimum goes with"},
              {"standard_error", some, "of it"},
              {"fitted_sizes", count(), "that have a minimum inside of the grid"},
              {"predicted", text().or_null(), "the solver's power, an exact rational"},
              {"because", text(), "what it rests on, or why there is none"},
              {"sizes", list(size), "in rising order"},
              {"course", list(law),
               "by step that is recorded; empty where a schedule or a ramp ends with the run"}});
  const Shape run = object({{"width", count(), "of the model"},
                            {"layers", count(), "likewise"},
                            {"values", map(number()), "of the grid"},
                            {"seed", count(), "of the run"},
                            {"verdict", text(), "as that of a placement's"},
                            {"final_loss", some, "of validation, nats"},
                            {"steps", count(), "that were made"}});
  return object(
      {{"keys", list(text()), "of the grid; the first is searched"},
       {"parametrization", text(), "a name or a file; own: the model's own inits"},
       {"rates", one_of(rate_sharing_names()), "whose learning rates the values are"},
       {"base", object({{"width", count(), "of the model"}, {"layers", count(), "of it"}}),
        "the size whose numbers the others have"},
       {"curves", list(curves), "by axis and other numbers"},
       {"runs", list(run), "that are finished"}});
}

}  // namespace scalecalc::cli
