#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/train.hpp"

namespace scalecalc {
namespace {

TrainRecord record(std::int64_t step, double loss, double validation, std::vector<double> norms) {
  TrainRecord made;
  made.step = step;
  made.loss = loss;
  made.validation_loss = validation;
  made.gradient.layers = {"embedding", "block[0]", "encoder.block[1]"};
  made.gradient.norms = std::move(norms);
  made.gradient.total =
      std::hypot(made.gradient.norms[0], made.gradient.norms[1], made.gradient.norms[2]);
  return made;
}

}  // namespace

TEST_CASE("course_of: what rose, and between which norms the gradients went") {
  const TrainCourse course =
      course_of({record(1, 4, 4, {0, 3, 4}), record(5, 3, 3.5, {9, 1, 0.25}),
                 record(9, 3.25, 3.75, {0, 0.5, 0}), record(12, 2, 3, {0, 2, 0})});
  CHECK(course.loss == 2);
  CHECK(course.rises == 0.25);
  CHECK(course.gradient_least == 0.5);
  CHECK(course.gradient_most == std::hypot(9, 1, 0.25));
  CHECK(course.block_least == 0);
  CHECK(course.block_most == 4);
}

TEST_CASE("course_of: nothing, one record, and a loss that is no number") {
  CHECK(std::isnan(course_of({}).loss));
  CHECK(std::isnan(course_of({}).rises));
  CHECK(course_of({record(1, 4, 5, {1, 1, 1})}).rises == 0);
  const TrainCourse lost =
      course_of({record(1, 4, 4, {1, 1, 1}), record(2, NAN, NAN, {NAN, NAN, NAN})});
  CHECK(std::isnan(lost.loss));
  CHECK(std::isnan(lost.rises));
  CHECK(lost.block_most == 1);
}

}  // namespace scalecalc
