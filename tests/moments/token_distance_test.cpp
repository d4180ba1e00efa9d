#include "moments/token_distance.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "moments/norm_variance.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

/// Variances and the covariance of ln D and ln S over draws.
class Logs {
 public:
  void add(double distance, double size) {
    const double d = std::log(distance), s = std::log(size);
    ++count_;
    d_ += d, s_ += s, dd_ += d * d, ss_ += s * s, ds_ += d * s;
  }
  double distance() const { return dd_ / count_ - d_ * d_ / (count_ * count_); }
  double size() const { return ss_ / count_ - s_ * s_ / (count_ * count_); }
  double covariance() const { return ds_ / count_ - d_ * s_ / (count_ * count_); }

 private:
  double count_ = 0, d_ = 0, s_ = 0, dd_ = 0, ss_ = 0, ds_ = 0;
};

}  // namespace

// K = (q/2 pi) (sqrt(1 - c^2) + (pi - acos c) c) of relu, whose slope in c is (q/2 pi) (pi - acos
// c).
TEST_CASE("what relu makes of tokens' distance moves less than it") {
  const double pi = std::acos(-1.0);
  const auto behind = [&](double c) {
    return (std::sqrt(1 - c * c) + (pi - std::acos(c)) * c) / (2 * pi);
  };
  double before = 0;
  for (const double c : {0.0, 0.5, 0.9, 0.99}) {
    CAPTURE(c);
    const double apart = 1 - c, after = 0.5 - behind(c);
    const double slope = distance_slope((pi - std::acos(c)) / (2 * pi), apart, after);
    // Central differences leave h^2/6 of a third derivative, which is below 10 in ln D.
    constexpr double h = 1e-4;
    const double up = std::log(0.5 - behind(1 - apart * std::exp(h))),
                 down = std::log(0.5 - behind(1 - apart * std::exp(-h)));
    CHECK(slope == near((up - down) / (2 * h), 10 * h * h));
    CHECK(slope > before);
    before = slope;
  }
  CHECK(distance_slope(0.5, 0, 0) == 1);
  CHECK(distance_slope(INFINITY, 0.1, 0.1) == 1);
}

// Tokens a z + b e_t of n features, whose a and b fluctuate from draw to draw, and their masks.
TEST_CASE("distances behind masks know less of those before") {
  constexpr int tokens = 16, width = 32, draws = 10000;
  constexpr double rate = 0.4, fluctuation = 0.1, together = 0.7;
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution kept(1 - rate);
  const auto size_and_distance = [&](const std::vector<double>& x) {
    double size = 0, both = 0;
    for (int i = 0; i < width; ++i) {
      double sum = 0;
      for (int t = 0; t < tokens; ++t) {
        const double one = x[t * width + i];
        size += one * one, sum += one;
      }
      both += sum * sum;
    }
    const double pairs = (both - size) / (tokens * (tokens - 1.0));
    size /= tokens;
    return std::pair(size - pairs, size);
  };
  Logs before, after;
  std::vector<double> x(tokens * width);
  for (int draw = 0; draw < draws; ++draw) {
    const double a = std::sqrt(together) * std::exp(fluctuation * normal(engine)),
                 b = std::sqrt(1 - together) * std::exp(2 * fluctuation * normal(engine));
    for (int i = 0; i < width; ++i) {
      const double z = normal(engine);
      for (int t = 0; t < tokens; ++t) x[t * width + i] = a * z + b * normal(engine);
    }
    const auto [distance, size] = size_and_distance(x);
    before.add(distance, size);
    for (double& one : x) one = kept(engine) ? one / (1 - rate) : 0;
    const auto [left, whole] = size_and_distance(x);
    after.add(left, whole);
  }
  const Counts counts{tokens, 1};
  NormVariance spread;
  spread.batch_variance = before.size();
  spread.distance_variance = before.distance();
  spread.distance_covariance = before.covariance();
  const double more = rate / (1 - rate);
  const Alike<double> y{0, 1 / (1 - rate), together, 0};
  const NormVariance out = through_dropout(spread, rate, 3 * more / width, y, counts);
  CHECK(out.distance_slope == near((1 - together) / (1 / (1 - rate) - together)));
  // Variances of as many draws, and of both sides; products of fluctuations are as small again.
  const double chance = 4 * std::sqrt(2.0 / draws) * std::sqrt(2.0);
  const double products = 2 * fluctuation;
  CHECK(out.distance_variance == near(after.distance(), chance + products));
  CHECK(out.batch_variance == near(after.size(), chance + products));
  CHECK(2 * after.distance() < before.distance());
  CHECK(out.distance_covariance == near(after.covariance(), chance + products));
}

TEST_CASE("a sum follows the distance of its stream as far as its branch does") {
  constexpr double endless = 1e30;  // features: both are apart by as much in every draw
  const Counts counts{4, 1};
  NormVariance stream;
  stream.distance_variance = 0.3;
  const Alike<double> x{0, 1, 0.5, 0}, f{0, 1, 0, 0};  // 2/3 of the sum's D is the branch's
  for (const double slope : {0.0, 0.4, 1.0}) {
    NormVariance branch;
    branch.distance_slope = slope;
    branch.distance_variance = slope * slope * 0.3 + 0.06;
    const double moves = (1 + 2 * slope) / 3;
    const NormVariance sum = through_sum(stream, branch, x, f, endless, counts);
    CHECK(sum.distance_variance == near(moves * moves * 0.3 + 4.0 / 9 * 0.06));
    CHECK(sum.distance_slope == near(moves));
    const NormVariance both = through_branches(stream, stream, branch, x, f, endless, counts);
    CHECK(both.distance_variance == near(moves * moves * 0.3 + 4.0 / 9 * 0.06));
    CHECK(both.distance_slope == near(moves));
  }
}

// Attention adds up the less, the farther tokens are apart: ln D of a normed sum has more than its
// own. Masks of the branch have none of it.
TEST_CASE("distances of a stack with dropout are forgotten") {
  constexpr double width = 64, rate = 0.5;
  const Counts counts{16, 1};
  const Alike<double> x{0, 1, 0.4, 0}, branch{0, 0.6, 0.4, 0}, masked{0, 1.2, 0.4, 0};
  const auto settled = [&](double dropped) {
    NormVariance stream = gaussian_spread(x, width, counts);
    for (int block = 0; block < 200; ++block) {
      NormVariance start = stream;
      start_branch(start);
      start.distance_susceptibility = -0.3;
      if (dropped > 0) start = through_dropout(start, dropped, 0, masked, counts);
      const NormVariance sum =
          through_sum(stream, start, x, dropped > 0 ? masked : branch, width, counts);
      const DistanceAfterNorm normed = distance_after_norm(sum, 1);
      stream = NormVariance{};
      stream.distance_variance = normed.variance;
      stream.distance_covariance = normed.covariance;
    }
    return static_cast<double>(stream.distance_variance);
  };
  CHECK(settled(rate) < 0.1);
  CHECK(settled(0) > 10);
}
