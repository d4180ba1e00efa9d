#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/train/figures.hpp"
#include "scalecalc/report.hpp"

/// How the runs of a placement at a depth went on their way.
namespace scalecalc::cli {

struct CourseCell {
  std::string group;
  std::int64_t layers = 0;
  MeanOf loss, rises;  ///< over the seeds (TrainCourse)
  /// The least and the most of all seeds and records.
  double gradient_least = 0, gradient_most = 0, block_least = 0, block_most = 0;
};
/// In the order of the cells.
std::vector<CourseCell> courses_of(const std::vector<TrainRun>& runs,
                                   const std::vector<TrainCell>& cells);
/// Of placements whose branches have a trained scalar, the sizes of these at the last record, over
/// the seeds.
report::Table scales_table(const std::vector<TrainRun>& runs, const std::vector<TrainCell>& cells);
report::Table course_table(const std::vector<CourseCell>& courses);
report::Value courses_value(const std::vector<CourseCell>& courses);

/// What is said of Post-Norm and Pre-Norm in shallow and in deep models
/// (docs/guide/experiments.md), beside what these runs show at the least and at the largest depth
/// that both were trained at. Empty unless there are two such depths.
report::Table said_table(const TrainFolder& folder, const std::vector<TrainCell>& cells,
                         const std::vector<CourseCell>& courses);

}  // namespace scalecalc::cli
