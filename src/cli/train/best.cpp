#include "cli/train/best.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/statistics.hpp"
#include "cli/train/document.hpp"
#include "cli/train/panels.hpp"

namespace scalecalc::cli {
namespace {

using report::known;
using report::Table;
using report::Value;

/// Standard errors beyond which two losses differ.
constexpr double kClear = 2;

struct Mean {
  double value = std::nan(""), error = std::nan("");
};

Mean mean_loss(const std::vector<double>& losses) {
  Mean mean{base::sample_mean(losses)};
  if (std::isfinite(mean.value)) mean.error = base::error_of_mean(losses);
  return mean;
}

/// Seed by seed, so that what a seed adds to both drops out.
Mean difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return {};
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return mean_loss(differences);
}

const GridPoint* best_point(const BestOfGrid& cell) {
  return cell.best ? &cell.points[*cell.best] : nullptr;
}

/// Of all placements at this depth, that of the least loss.
const BestOfGrid* winner(const BestAnswer& answer, std::int64_t layers) {
  const BestOfGrid* best = nullptr;
  for (const BestOfGrid& cell : answer.cells) {
    if (cell.layers != layers || !cell.best) continue;
    if (best == nullptr || best_point(cell)->mean() < best_point(*best)->mean()) best = &cell;
  }
  return best;
}

/// Behind the best placement of its depth: 0 of that itself.
Mean behind(const BestAnswer& answer, const BestOfGrid& cell) {
  const BestOfGrid* best = winner(answer, cell.layers);
  if (best == nullptr || !cell.best || best->seeds != cell.seeds) return {};
  return difference(best_point(cell)->losses, best_point(*best)->losses);
}

Value point_value(const GridPoint& point) {
  const Mean loss = mean_loss(point.losses);
  Value entry = Value::object();
  entry["values"] = Value::object();
  for (const auto& [key, value] : point.values) entry["values"][key] = value;
  entry["loss"] = loss.value;
  entry["standard_error"] = loss.error;
  entry["converged"] = point.converged;
  entry["as_forecast"] = point.as_forecast;
  return entry;
}

double value_of(const GridPoint& point, const std::string& key) {
  const auto found =
      std::ranges::find_if(point.values, [&key](const auto& of) { return of.first == key; });
  return found == point.values.end() ? std::nan("") : found->second;
}

Table best_table(const BestAnswer& answer) {
  Table table{{"placement", "layers"}, {}};
  for (const std::string& key : answer.keys) table.columns.push_back("best " + key);
  for (const char* name : {"converged", "loss", "standard error", "held out", "perplexity",
                           "behind by", "standard error", "as forecast"})
    table.columns.emplace_back(name);
  for (const BestOfGrid& cell : answer.cells) {
    std::vector<Value> row = {cell.group, cell.layers};
    const std::string forecasts = fmt::format("{}/{}", cell.as_forecast, cell.runs);
    if (const GridPoint* best = best_point(cell)) {
      for (const std::string& key : answer.keys) row.push_back(known(value_of(*best, key)));
      const Mean loss = mean_loss(best->losses), distance = behind(answer, cell);
      row.insert(row.end(), {fmt::format("{}/{}", best->converged, cell.seeds.size()), loss.value,
                             known(loss.error), known(cell.held_out), std::exp(loss.value),
                             known(distance.value), known(distance.error), forecasts});
    } else {
      row.resize(row.size() + answer.keys.size());
      row.insert(row.end(), {"all diverged", {}, {}, {}, {}, {}, {}, forecasts});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The best without a warm-up against the best with one.
Table warmup_table(const BestAnswer& answer) {
  Table table{{"placement", "layers", "loss without", "loss with", "warm-up", "gain",
               "standard error", "needs it"},
              {}};
  for (const BestOfGrid& cell : answer.cells) {
    const std::optional<std::size_t> without = cell.best_with("warmup", 0);
    std::optional<std::size_t> with;
    for (std::size_t i = 0; i < cell.points.size(); ++i) {
      if (!(value_of(cell.points[i], "warmup") > 0) || !std::isfinite(cell.points[i].mean()))
        continue;
      if (!with || cell.points[i].mean() < cell.points[*with].mean()) with = i;
    }
    if (!without && !with) continue;
    std::vector<Value> row = {cell.group, cell.layers};
    row.push_back(without ? Value(cell.points[*without].mean()) : Value("diverged"));
    row.push_back(with ? Value(cell.points[*with].mean()) : Value("diverged"));
    row.push_back(with ? Value(value_of(cell.points[*with], "warmup")) : Value());
    if (without && with) {
      const GridPoint &a = cell.points[*without], &b = cell.points[*with];
      const Mean gain = difference(a.losses, b.losses);
      const bool only_so = b.converged > a.converged;
      const bool is_told = gain.value <= 0 || !std::isnan(gain.error);
      row.insert(row.end(), {gain.value, known(gain.error),
                             only_so                            ? "to train at all"
                             : !is_told                         ? "one seed does not tell"
                             : gain.value > kClear * gain.error ? "to do better"
                                                                : "no"});
    } else {
      row.insert(row.end(), {{}, {}, without ? "no" : "to train at all"});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The largest depth at which every seed converged, at the best of each.
Table depth_table(const BestAnswer& answer) {
  Table table{{"placement", "trains up to", "of"}, {}};
  std::vector<std::string> groups;
  for (const BestOfGrid& cell : answer.cells)
    if (std::ranges::find(groups, cell.group) == groups.end()) groups.push_back(cell.group);
  for (const std::string& group : groups) {
    std::int64_t reached = 0, deepest = 0;
    for (const BestOfGrid& cell : answer.cells) {
      if (cell.group != group) continue;
      deepest = std::max(deepest, cell.layers);
      const bool all = std::ranges::any_of(cell.points, [&cell](const GridPoint& point) {
        return point.converged == static_cast<int>(cell.seeds.size());
      });
      if (all) reached = std::max(reached, cell.layers);
    }
    table.rows.push_back({group, reached > 0 ? Value(reached) : Value("none"), deepest});
  }
  return table;
}

bool has_warmup(const BestAnswer& answer) {
  return std::ranges::find(answer.keys, "warmup") != answer.keys.end();
}

constexpr char kHow[] =
    "Each placement at the point of the grid with the lowest mean loss over the seeds; all points "
    "cost the same. Held out: each seed's loss at the point that the other seeds find best, which "
    "the choice among many does not flatter. Behind by: nats more than the best placement of its "
    "depth, seed by seed. As forecast: of all runs of the grid those that did what was to be "
    "expected before their first step.";

}  // namespace

Value best_value(const BestAnswer& answer) {
  Value list = Value::array();
  for (const BestOfGrid& cell : answer.cells) {
    const Mean distance = behind(answer, cell);
    Value entry = Value::object(), points = Value::array();
    entry["placement"] = cell.group;
    entry["layers"] = cell.layers;
    entry["seeds"] = static_cast<std::int64_t>(cell.seeds.size());
    entry["best"] = cell.best ? point_value(*best_point(cell)) : Value();
    entry["held_out"] = cell.held_out;
    entry["held_out_standard_error"] = cell.held_out_error;
    entry["behind"] = distance.value;
    entry["behind_standard_error"] = distance.error;
    entry["runs"] = cell.runs;
    entry["as_forecast"] = cell.as_forecast;
    for (const GridPoint& point : cell.points) points.push_back(point_value(point));
    entry["points"] = points;
    list.push_back(entry);
  }
  return list;
}

Shape best_shape() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape point = object({{"values", map(number()), "of the grid"},
                              {"loss", some, "of validation, nats; null: a seed diverged"},
                              {"standard_error", some, "of that mean; null of one seed"},
                              {"converged", count(), "seeds that did"},
                              {"as_forecast", count(), "runs that did what was forecast"}});
  return list(object({{"placement", text(), "what is compared"},
                      {"layers", count(), "the depth"},
                      {"seeds", count(), "of each point"},
                      {"best", point.or_null(), "of the lowest mean loss; null: all diverged"},
                      {"held_out", some, "loss at the point that the other seeds find best"},
                      {"held_out_standard_error", some, "of that mean"},
                      {"behind", some, "nats more than the depth's best placement"},
                      {"behind_standard_error", some, "of that mean over the seeds"},
                      {"runs", count(), "of all points"},
                      {"as_forecast", count(), "of them"},
                      {"points", list(point), "in the order of their values"}}));
}

Table best_rows(const BestAnswer& answer) {
  return best_table(answer);
}

std::vector<report::Section> best_sections(const BestAnswer& answer) {
  std::vector<report::Section> sections = {{"Each placement at its best", best_table(answer)},
                                           {"", report::Paragraph{kHow}},
                                           {"Which depth each reaches", depth_table(answer)}};
  if (has_warmup(answer))
    if (Table table = warmup_table(answer); !table.rows.empty())
      sections.push_back({"Which needs a warm-up", std::move(table)});
  if (!answer.rates.empty())
    sections.push_back({"How the best learning rate goes with depth", rates_table(answer)});
  return sections;
}

std::vector<report::Plot> best_plots(const BestAnswer& answer) {
  using report::AxisScale;
  std::set<std::int64_t> depths;
  for (const BestOfGrid& cell : answer.cells) depths.insert(cell.layers);
  const std::string& key = answer.keys.front();
  std::vector<report::Plot> plots;
  for (const std::int64_t depth : depths) {
    report::Plot plot;
    plot.title = fmt::format("Loss against {}, {}", key, blocks_text(depth));
    plot.x.label = key == "lr" ? "learning rate" : key;
    plot.x.unit = "pure number";
    plot.y.label = "validation loss";
    plot.y.unit = "nats a token";
    // Losses beyond those of a guess leave the axis.
    plot.y.most = kFarFromGuess * std::log(static_cast<double>(answer.vocab));
    plot.note =
        "The mean over seeds, in a band from the least of them to the most; other numbers "
        "of the grid at their best there.";
    bool is_positive = true;
    std::string lost;
    int look = 0;
    for (const BestOfGrid& cell : answer.cells) {
      if (cell.layers != depth) continue;
      report::Series series{cell.group, report::Origin::measured, {}, look++, true};
      std::set<double> values;
      for (const GridPoint& point : cell.points) values.insert(value_of(point, key));
      for (const double value : values) {
        is_positive = is_positive && value > 0;
        const std::optional<std::size_t> at = cell.best_with(key, value);
        if (!at) {
          lost += fmt::format("{}{} at {}", lost.empty() ? "" : ", ", cell.group,
                              report::format_number(value));
          series.points.push_back({value, std::nan("")});
          continue;
        }
        const std::vector<double>& losses = cell.points[*at].losses;
        const auto [least, most] = std::ranges::minmax(losses);
        series.points.push_back({value, base::sample_mean(losses), 0, least, most});
      }
      plot.series.push_back(std::move(series));
    }
    plot.x.scale = is_positive ? AxisScale::logarithmic : AxisScale::linear;
    if (!lost.empty()) plot.note += " Diverged: " + lost + ".";
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace scalecalc::cli
