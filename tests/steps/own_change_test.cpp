#include "steps/own_change.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>

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
