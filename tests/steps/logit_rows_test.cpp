#include "steps/logit_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace scalecalc::steps;

namespace {

/// Mean of draws, with its standard error.
struct Mean {
  double value = 0, error = 0;
};
Mean mean_of(const std::vector<double>& draws) {
  const double count = static_cast<double>(draws.size());
  Mean made;
  for (const double draw : draws) made.value += draw / count;
  for (const double draw : draws) made.error += (draw - made.value) * (draw - made.value);
  made.error = std::sqrt(made.error / (count - 1) / count);
  return made;
}

/// A row over the samples: its share along the ones, and its square.
struct Row {
  double along, square;
};
Row row_of(const std::vector<double>& g) {
  double sum = 0, square = 0;
  for (const double of : g) {
    sum += of;
    square += of * of;
  }
  return {sum * sum / (square * static_cast<double>(g.size())), square};
}

double average(const std::vector<GradientRow>& rows, double (*of)(const GradientRow&)) {
  double sum = 0, shares = 0;
  for (const GradientRow& row : rows) {
    sum += row.share * of(row);
    shares += row.share;
  }
  CHECK(shares == doctest::Approx(1));
  return sum;
}
double along_of(const GradientRow& row) {
  return row.along;
}
double square_of(const GradientRow& row) {
  return row.square;
}
double size_of(const GradientRow& row) {
  return std::sqrt(row.square);
}

}  // namespace

TEST_CASE("logit rows: lognormal numbers lie along the ones as draws of them do") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const int count : {2, 3, 4, 16, 100})
    for (const double variance : {0.01, 0.3, 1.0, 3.0}) {
      CAPTURE(count);
      CAPTURE(variance);
      std::vector<double> along, square, size;
      for (int draw = 0; draw < 20000; ++draw) {
        std::vector<double> g;
        for (int t = 0; t < count; ++t) g.push_back(std::exp(std::sqrt(variance) * normal(random)));
        along.push_back(row_of(g).along);
        size.push_back(std::sqrt(row_of(g).square / count) * std::exp(-variance));
        square.push_back(along.back() * along.back());
      }
      const LognormalRow said = lognormal_row(count, variance);
      const Mean first = mean_of(along), second = mean_of(square);
      // The integral's steps and the nodes' reach of five deviations: 1e-6.
      CHECK(std::fabs(said.along - first.value) < 4 * first.error + 1e-6);
      const double said_second =
          said.along * said.along + said.along_deviation * said.along_deviation;
      CHECK(std::fabs(said_second - second.value) < 4 * second.error + 1e-6);
      // The integral's end and steps: 1e-4.
      const Mean root = mean_of(size);
      CHECK(std::fabs(std::exp(-said.log_variance / 8) - root.value) < 4 * root.error + 1e-4);
    }
  CHECK(lognormal_row(1, 2.0).along == 1);
  CHECK(lognormal_row(7, 0.0).along == 1);
}

TEST_CASE("logit rows: of many samples lognormal numbers' share along the ones is e^-variance") {
  // (E g)^2/E g^2; to the order 1/N.
  const LognormalRow row = lognormal_row(1e5, 0.7);
  CHECK(row.along == doctest::Approx(std::exp(-0.7)).epsilon(1e-3));
  CHECK(row.along_deviation < 0.01);
}

TEST_CASE("logit rows: rows of a softmax' gradient are those of logits that are drawn") {
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  for (const int classes : {40, 400}) {
    CAPTURE(classes);
    constexpr int count = 6;
    constexpr double own = 0.8, shared = 0.3;
    const auto width = static_cast<std::size_t>(classes);
    std::vector<double> along[2], sizes[2], squares[2];
    for (int draw = 0; draw < 24000 / classes; ++draw) {
      std::vector<std::vector<double>> g(width, std::vector<double>(count));
      std::vector<double> total(count);
      for (std::vector<double>& row : g) {
        const double of_all = std::sqrt(shared) * normal(random);
        for (std::size_t t = 0; t < count; ++t)
          total[t] += row[t] = std::exp(of_all + std::sqrt(own) * normal(random));
      }
      for (std::vector<double>& row : g)
        for (std::size_t t = 0; t < count; ++t) row[t] /= total[t];
      std::vector<bool> is_target(width);
      for (std::size_t t = 0; t < count; ++t) {
        const std::size_t target = std::uniform_int_distribution<std::size_t>(0, width - 1)(random);
        is_target[target] = true;
        g[target][t] -= 1;
      }
      for (std::size_t c = 0; c < width; ++c) {
        const Row row = row_of(g[c]);
        along[is_target[c]].push_back(row.along);
        squares[is_target[c]].push_back(row.square);
        sizes[is_target[c]].push_back(std::sqrt(row.square));
      }
    }
    const double n = count;
    const double square = std::exp(own + shared) / classes / classes;
    // E S^2/N of k targets, S = k - N/classes but for what p varies by; 2 at most are common.
    const std::vector<GradientRow> rows[2] = {rows_of_others(n, own, shared),
                                              rows_of_targets(n, classes, square, 0)};
    for (const int kind : {0, 1}) {
      CAPTURE(kind);
      const Mean seen = mean_of(along[kind]), size = mean_of(sizes[kind]);
      const double root = std::sqrt(mean_of(squares[kind]).value);
      // Of a finite number of classes p is not lognormal, and what a target's row has of the other
      // samples' p is taken at its average: of the order N/classes.
      const double orders = n / classes;
      CHECK(std::fabs(average(rows[kind], along_of) - seen.value) <
            4 * seen.error + orders * seen.value);
      CHECK(average(rows[kind], square_of) == doctest::Approx(1).epsilon(0.02));
      CHECK(std::fabs(average(rows[kind], size_of) - size.value / root) <
            4 * size.error / root + orders);
    }
  }
}

TEST_CASE("logit rows: where a class has many targets there are none") {
  CHECK(rows_of_targets(100, 10, 0.02, 1).empty());
  CHECK_FALSE(rows_of_targets(30, 10, 0.02, 1).empty());
}
