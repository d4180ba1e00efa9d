#include "steps/own_change.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>

#include "steps/slopes.hpp"

using namespace scalecalc::steps;

// What a parameter's own step does, beside the same step on matrices that are drawn.

namespace {

struct Measured {
  double change = 0, error = 0;       ///< E of the squared change, with its standard error
  double along = 0, along_error = 0;  ///< sum over the samples of change times gradient, a feature
  double update = 0;
};

Eigen::MatrixXd drawn(int rows, int samples, double same, double cross, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Eigen::MatrixXd made(rows, samples);
  for (int i = 0; i < rows; ++i) {
    const double shared = std::sqrt(cross) * normal(random);
    for (int t = 0; t < samples; ++t)
      made(i, t) = shared + std::sqrt(same - cross) * normal(random);
  }
  return made;
}

using Step = Eigen::MatrixXd (*)(const Eigen::MatrixXd& gradient);

Eigen::MatrixXd same(const Eigen::MatrixXd& g) {
  return g;
}
Eigen::MatrixXd signs(const Eigen::MatrixXd& g) {
  return g.unaryExpr([](double x) { return x > 0 ? 1.0 : -1.0; });
}
Eigen::MatrixXd orthogonal(const Eigen::MatrixXd& g) {
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(g, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const double least = svd.singularValues()(0) * 1e-9;
  Eigen::MatrixXd made = Eigen::MatrixXd::Zero(g.rows(), g.cols());
  for (Eigen::Index k = 0; k < svd.singularValues().size(); ++k)
    if (svd.singularValues()(k) > least)
      made += svd.matrixU().col(k) * svd.matrixV().col(k).transpose();
  return made;
}

constexpr int in = 256, out = 192, samples = 6;

Measured measured(Step step, double x_cross, double g_cross, double scale) {
  std::mt19937 random(7);
  constexpr int draws = 24;
  Eigen::ArrayXd change(draws), along(draws), update(draws);
  for (int i = 0; i < draws; ++i) {
    const Eigen::MatrixXd x = drawn(in, samples, 1.0, x_cross, random);
    const Eigen::MatrixXd g = drawn(out, samples, 0.04, g_cross, random);
    const Eigen::MatrixXd moved = -scale * step(g * x.transpose());
    const Eigen::MatrixXd y = moved * x;
    change(i) = y.squaredNorm() / double(y.size());
    along(i) = y.cwiseProduct(g).sum() / out;
    update(i) = moved.squaredNorm() / double(moved.size());
  }
  const auto error = [](const Eigen::ArrayXd& a) {
    return std::sqrt((a - a.mean()).square().sum() / (draws - 1) / draws);
  };
  return {change.mean(), error(change), along.mean(), error(along), update.mean()};
}

void agrees(const Update& update, Step step) {
  for (const double x_cross : {0.0, 0.6})
    for (const double g_cross : {0.0, 0.02}) {
      const Samples counts{samples, 1};
      MatrixUse use;
      use.fan_in = in;
      use.fan_out = out;
      use.samples = counts;
      use.input = kernel_of({1, x_cross, 0}, counts);
      use.gradient = kernel_of({0.04, g_cross, 0}, counts);
      use.features = gaussian_features(0, use.input, counts);
      use.overlap_variance = (1 + x_cross * x_cross) / in;
      const OwnChange own = own_change(update, use);
      const Kernel all = own.noise + own.response * own.response * use.gradient;
      const Measured seen = measured(step, x_cross, g_cross, update.scale);
      CAPTURE(x_cross);
      CAPTURE(g_cross);
      const double change = diagonal_of(all, counts);
      CAPTURE(change);
      CAPTURE(seen.change);
      CHECK(std::fabs(change - seen.change) < own.truncation + 4 * seen.error);
      CHECK(own.truncation < 0.1 * change);
      const double along = samples * diagonal_of(own.response * use.gradient, counts);
      const double left_out = own.truncation / change * std::fabs(along);
      CHECK(std::fabs(along - seen.along) < left_out + 4 * seen.along_error);
      CHECK(along < 0);
    }
}

}  // namespace

TEST_CASE("own change: the gradient itself, signs and orthogonal factors move what they put out") {
  Update update;
  update.scale = 0.01;
  agrees(update, same);
  update.entry.kind = EntryRule::Kind::sign;
  agrees(update, signs);
  update.rule = Update::Rule::orthogonal;
  agrees(update, orthogonal);
}

TEST_CASE("own change: signs between two relus, whose features and gradients are mostly 0") {
  // Features of a law like none that is smooth, rows of a gradient with few entries: of a Gaussian
  // row |G| would be 1.27 times as large, and the step's own change 1.18 times.
  const Samples counts{samples, 1};
  const SlopeAverages relu = slope_averages(scalecalc::Activation::named("relu"), 0, 1, 0);
  MatrixUse use;
  use.fan_in = in;
  use.fan_out = out;
  use.samples = counts;
  use.input = kernel_of({relu.f2, relu.ff, 0}, counts);
  use.features = relu.features;
  use.gradient = kernel_of({0.04 * relu.d2, 0, 0}, counts);
  use.overlap_variance = (relu.f2 * relu.f2 - relu.ff * relu.ff) / in;
  use.outputs = {{1, use.gradient, relu.d4 / (relu.d2 * relu.d2)}};
  Update update;
  update.scale = 0.01;
  update.entry.kind = EntryRule::Kind::sign;
  const OwnChange own = own_change(update, use);
  std::mt19937 random(11);
  constexpr int draws = 24;
  Eigen::ArrayXd change(draws), along(draws);
  for (int i = 0; i < draws; ++i) {
    const Eigen::MatrixXd x = drawn(in, samples, 1.0, 0, random).cwiseMax(0);
    const Eigen::MatrixXd mask = drawn(out, samples, 1.0, 0, random);
    const Eigen::MatrixXd g = (mask.array() > 0).select(drawn(out, samples, 0.04, 0, random), 0.0);
    const Eigen::MatrixXd gradient = g * x.transpose();
    const Eigen::MatrixXd y = -update.scale * gradient.cwiseSign() * x;
    change(i) = y.squaredNorm() / double(y.size());
    along(i) = y.cwiseProduct(g).sum() / out;
  }
  const auto error = [](const Eigen::ArrayXd& a) {
    return std::sqrt((a - a.mean()).square().sum() / (draws - 1) / draws);
  };
  const Kernel all = own.noise + own.response * own.response * use.gradient;
  const double said = diagonal_of(all, counts);
  CAPTURE(said);
  CAPTURE(change.mean());
  CHECK(std::fabs(said - change.mean()) < own.truncation + 4 * error(change));
  CHECK(own.truncation < 0.1 * said);
  const double response = samples * diagonal_of(own.response * use.gradient, counts);
  CAPTURE(response);
  CAPTURE(along.mean());
  // The square of the correction that is made of |G|, 0.23.
  constexpr double next_order = 0.05;
  CHECK(std::fabs(response - along.mean()) < next_order * std::fabs(response) + 4 * error(along));
}

TEST_CASE("own change: Muon's polynomials of singular values that few directions spread") {
  // Two heads' gradients of queries: each head's rows have one covariance, a Wishart matrix of 6
  // queries and 5 keys, so that the squares of singular values vary by 0.6 of themselves.
  const Samples counts{samples, 1};
  constexpr int heads = 2, keys = samples - 1, width = 512;
  MatrixUse use;
  use.fan_in = use.fan_out = width;
  use.samples = counts;
  use.input = kernel_of({1, 0, 0}, counts);
  use.features = gaussian_features(0, use.input, counts);
  use.gradient = kernel_of({keys, 0, 0}, counts);
  use.overlap_variance = 1.0 / width;
  use.concentration = (1 + 1.0 / samples) * (1 + 1.0 / keys) - 1;
  use.parts = heads;
  Update update;
  update.rule = Update::Rule::orthogonal;
  update.scale = 1;
  update.polynomials = 5;
  std::mt19937 random(5);
  constexpr int draws = 48;
  Eigen::ArrayXd change(draws);
  for (int i = 0; i < draws; ++i) {
    const Eigen::MatrixXd x = drawn(width, samples, 1.0, 0, random);
    Eigen::MatrixXd g(width, samples);
    for (int head = 0; head < heads; ++head)
      g.middleRows(head * width / heads, width / heads) =
          drawn(width / heads, keys, 1.0, 0, random) * drawn(keys, samples, 1.0, 0, random);
    const Eigen::MatrixXd gradient = g * x.transpose();
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(gradient, Eigen::ComputeThinU | Eigen::ComputeThinV);
    Eigen::MatrixXd y = Eigen::MatrixXd::Zero(width, samples);
    for (int k = 0; k < samples; ++k) {
      double value = svd.singularValues()(k) / gradient.norm();
      for (int step = 0; step < update.polynomials; ++step) {
        const double square = value * value;
        value *= 3.4445 + square * (-4.7750 + square * 2.0315);
      }
      y += value * svd.matrixU().col(k) * (svd.matrixV().col(k).transpose() * x);
    }
    change(i) = y.squaredNorm() / double(y.size());
  }
  const OwnChange own = own_change(update, use);
  const double said = diagonal_of(own.noise + own.response * own.response * use.gradient, counts);
  const double error = std::sqrt((change - change.mean()).square().sum() / (draws - 1) / draws);
  CAPTURE(said);
  CAPTURE(change.mean());
  CHECK(std::fabs(said - change.mean()) < own.truncation + 4 * error);
  CHECK(own.truncation < 0.15 * said);
}

TEST_CASE("own change: a multiplier is that of the function and of the gradient") {
  MatrixUse use;
  use.fan_in = use.fan_out = 64;
  use.samples = {4, 1};
  use.input = kernel_of({1, 0.5, 0}, use.samples);
  use.gradient = kernel_of({0.01, 0.002, 0}, use.samples);
  use.features = gaussian_features(0, use.input, use.samples);
  Update update;
  update.scale = 0.1;
  const auto response = [&](double multiplier) {
    use.multiplier = multiplier;
    return own_change(update, use).response.all;
  };
  CHECK(response(2) == doctest::Approx(4 * response(1)));  // g has two powers of it
  update.entry.kind = EntryRule::Kind::sign;
  CHECK(response(2) == doctest::Approx(2 * response(1)));  // its sign has none
}

TEST_CASE("own change: no step, no change; a bias moves all samples alike") {
  MatrixUse bias;
  bias.samples = {5, 2};
  bias.is_table = true;
  bias.input = kernel_of({1, 1, 1}, bias.samples);
  bias.gradient = kernel_of({1, 0.2, 0.1}, bias.samples);
  Update update;
  CHECK(own_change(update, bias).noise.all == 0);
  update.scale = 0.5;
  update.entry.kind = EntryRule::Kind::sign;
  const OwnChange own = own_change(update, bias);
  const Kernel all = own.noise + own.response * own.response * bias.gradient;
  const Entries entries = entries_of(all, bias.samples);
  CHECK(entries.same == doctest::Approx(0.25));
  CHECK(entries.cross == doctest::Approx(0.25));
  CHECK(entries.between == doctest::Approx(0.25));
}

TEST_CASE("own change: a row moves by the step of its rule, however alike its gradients are") {
  for (const double chance : {0.0, 0.01, 0.1, 0.5})
    for (const double alike : {-0.05, 0.0, 0.3, 0.9, 1.0}) {
      CAPTURE(chance);
      CAPTURE(alike);
      MatrixUse table;
      table.samples = {6, 2};
      table.is_table = true;
      table.input = kernel_of({1, chance, chance}, table.samples);
      table.gradient = kernel_of({0.04, 0.04 * alike, 0.04 * alike}, table.samples);
      Update update;
      update.scale = 0.5;
      update.entry.kind = EntryRule::Kind::sign;
      const OwnChange own = own_change(update, table);
      const Kernel all = own.noise + own.response * own.response * table.gradient;
      // A sign is 1 in size. Where every sample reads one row of one gradient, the linear part
      // alone gives that row more.
      const double linear =
          diagonal_of(own.response * own.response * table.gradient, table.samples);
      CHECK(diagonal_of(all, table.samples) == doctest::Approx(std::max(0.25, linear)));
      if (chance <= 0.1) CHECK(linear <= 0.25);
    }
}
