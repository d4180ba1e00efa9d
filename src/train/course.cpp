#include <cmath>

#include "scalecalc/train.hpp"

namespace scalecalc {

TrainCourse course_of(const std::vector<TrainRecord>& records) {
  TrainCourse course;
  if (records.empty()) return course;
  course.loss = records.back().loss;
  course.rises = 0;
  double before = std::numeric_limits<double>::infinity();
  for (const TrainRecord& record : records) {
    course.rises += std::fdim(record.validation_loss, before);
    before = record.validation_loss;
    course.gradient_least = std::fmin(course.gradient_least, record.gradient.total);
    course.gradient_most = std::fmax(course.gradient_most, record.gradient.total);
    for (std::size_t i = 0; i < record.gradient.layers.size(); ++i) {
      if (record.gradient.layers[i].find("block[") == std::string::npos) continue;
      course.block_least = std::fmin(course.block_least, record.gradient.norms[i]);
      course.block_most = std::fmax(course.block_most, record.gradient.norms[i]);
    }
  }
  return course;
}

}  // namespace scalecalc
