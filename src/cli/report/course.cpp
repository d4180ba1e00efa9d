#include "cli/report/course.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cli/train/document.hpp"

namespace scalecalc::cli {

using report::known;

namespace {

std::string between(double least, double most) {
  if (std::isnan(least)) return "-";
  return report::format_number(least, 3) + " to " + report::format_number(most, 3);
}

}  // namespace

std::vector<CourseCell> courses_of(const std::vector<TrainRun>& runs,
                                   const std::vector<TrainCell>& cells) {
  std::vector<CourseCell> courses;
  for (const TrainCell& cell : cells) {
    const double none = TrainCourse::kNone;
    CourseCell course{cell.group, cell.layers, {}, {}, none, none, none, none};
    std::vector<double> losses, rises;
    for (const TrainRun& run : runs) {
      if (run.group != cell.group || run.layers != cell.layers) continue;
      const TrainCourse one = course_of(run.records);
      losses.push_back(one.loss);
      rises.push_back(one.rises);
      course.gradient_least = std::fmin(course.gradient_least, one.gradient_least);
      course.gradient_most = std::fmax(course.gradient_most, one.gradient_most);
      course.block_least = std::fmin(course.block_least, one.block_least);
      course.block_most = std::fmax(course.block_most, one.block_most);
    }
    course.loss = mean_of(losses);
    course.rises = mean_of(rises);
    courses.push_back(std::move(course));
  }
  return courses;
}

report::Table scales_table(const std::vector<TrainRun>& runs, const std::vector<TrainCell>& cells) {
  report::Table table{{"placement", "layers", "mean size", "least", "most", "1/N"}, {}};
  for (const TrainCell& cell : cells) {
    std::vector<double> sizes;
    double least = TrainCourse::kNone, most = least;
    for (const TrainRun& run : runs) {
      if (run.group != cell.group || run.layers != cell.layers || run.records.empty()) continue;
      for (const auto& [path, value] : run.records.back().scales) {
        sizes.push_back(std::fabs(value));
        least = std::fmin(least, value);
        most = std::fmax(most, value);
      }
    }
    if (!sizes.empty())
      table.rows.push_back({cell.group, cell.layers, known(mean_of(sizes).value), known(least),
                            known(most), 1 / static_cast<double>(cell.layers)});
  }
  return table;
}

report::Table course_table(const std::vector<CourseCell>& courses) {
  report::Table table{{"placement", "layers", "training loss", "standard error", "rises",
                       "standard error", "gradient norm", "of a block"},
                      {}};
  for (const CourseCell& cell : courses)
    table.rows.push_back({cell.group, cell.layers, known(cell.loss.value), known(cell.loss.error),
                          known(cell.rises.value), known(cell.rises.error),
                          between(cell.gradient_least, cell.gradient_most),
                          between(cell.block_least, cell.block_most)});
  return table;
}

report::Value courses_value(const std::vector<CourseCell>& courses) {
  report::Value list = report::Value::array();
  for (const CourseCell& cell : courses) {
    report::Value entry = report::Value::object();
    entry["placement"] = cell.group;
    entry["layers"] = cell.layers;
    entry["training_loss"] = cell.loss.value;
    entry["training_loss_standard_error"] = cell.loss.error;
    entry["rises"] = cell.rises.value;
    entry["rises_standard_error"] = cell.rises.error;
    entry["gradient_least"] = cell.gradient_least;
    entry["gradient_most"] = cell.gradient_most;
    entry["block_least"] = cell.block_least;
    entry["block_most"] = cell.block_most;
    list.push_back(entry);
  }
  return list;
}

}  // namespace scalecalc::cli
