#include "gaussian/softmax/check.hpp"

#include <fmt/format.h>

#include "scalecalc/error.hpp"

namespace scalecalc::gaussian::softmax {

void check_keys(std::int64_t keys) {
  if (keys >= 1 && keys <= kMostKeys) return;
  throw Error(ErrorKind::input, fmt::format("softmax over {} keys", keys), "keys",
              fmt::format("an integer from 1 to {}", kMostKeys));
}

void check_keys(double keys) {
  if (keys >= 1 && keys <= static_cast<double>(kMostKeys)) return;
  throw Error(ErrorKind::input, fmt::format("softmax over {} keys", keys), "keys",
              fmt::format("a number from 1 to {}", kMostKeys));
}

void check_keys(std::int64_t fewer, std::int64_t more) {
  check_keys(fewer);
  check_keys(more);
  if (fewer <= more) return;
  throw Error(ErrorKind::input, fmt::format("rows of {} and {} keys", fewer, more), "keys",
              "the row with fewer keys comes first");
}

void check_variance(double tau2) {
  if (tau2 >= 0.0 && tau2 <= kMostVariance) return;
  throw Error(ErrorKind::input, fmt::format("score variance {}", tau2), "tau2",
              fmt::format("a number from 0 to {}", kMostVariance));
}

void check_correlation(double correlation) {
  if (correlation >= -1.0 && correlation <= 1.0) return;
  throw Error(ErrorKind::input, fmt::format("correlation {}", correlation), "correlation",
              "a number from -1 to 1");
}

}  // namespace scalecalc::gaussian::softmax
