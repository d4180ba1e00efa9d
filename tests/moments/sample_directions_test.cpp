#include "moments/sample_directions.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

#include "moments/positions.hpp"
#include "moments/sample_norm.hpp"
#include "sample.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr int tokens = 5, batch = 3;
constexpr double samples = tokens * batch;

/// What sequences have in common, and what each has of its own.
struct Parts {
  Eigen::MatrixXd common, own;
  PerPosition state() const {
    PerPosition x;
    x.positions = make_positions(tokens, true);
    x.mean = Eigen::ArrayXd::Zero(tokens);
    const Eigen::MatrixXd within = common + own;
    x.second = within.diagonal().array();
    x.cross = within.array();
    x.between = common.array();
    return x;
  }
};

/// Sums of ever more keys: the first tokens are the largest, and near ones go together.
Parts running_means(double common) {
  Parts parts{Eigen::MatrixXd(tokens, tokens), Eigen::MatrixXd(tokens, tokens)};
  for (int t = 0; t < tokens; ++t)
    for (int u = 0; u < tokens; ++u) {
      parts.own(t, u) = 1.0 / (1 + std::max(t, u));
      parts.common(t, u) = common * (t == u ? 1.0 : 0.3);
    }
  return parts;
}

class PartDraws {
 public:
  explicit PartDraws(const Parts& parts)
      : common_(parts.common.llt().matrixL()), own_(parts.own.llt().matrixL()) {}
  /// About its mean, one column a sequence.
  Eigen::MatrixXd next(std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    const auto noise = [&] {
      Eigen::VectorXd z(tokens);
      for (double& one : z) one = normal(random);
      return z;
    };
    const Eigen::VectorXd shared = common_ * noise();
    Eigen::MatrixXd x(tokens, batch);
    for (int b = 0; b < batch; ++b) x.col(b) = shared + own_ * noise();
    return (x.array() - x.mean()).matrix();
  }

 private:
  Eigen::MatrixXd common_, own_;
};

}  // namespace

TEST_CASE("samples that differ in size pass a norm over them as draws do") {
  const Parts x = running_means(0.2), g = running_means(1);
  const PerPosition inside = centred(x.state(), tokens, batch),
                    gradient = centred(g.state(), tokens, batch);
  const SampleDirections directions(inside, {tokens, batch}, 1);
  const double size = average(inside).second;
  const PerPosition forward = directions.forward(inside), back = directions.back(gradient, 1);
  CHECK(average(forward).second == near(size));
  constexpr int draws = 40000;
  std::mt19937_64 random(5);
  const PartDraws of_x(x), of_g(g);
  Sample first, pair, apart, inverse, back_first, back_last, back_pair, back_apart;
  for (int draw = 0; draw < draws; ++draw) {
    const Eigen::MatrixXd u = of_x.next(random), v = of_g.next(random);
    const double s2 = u.squaredNorm() / samples, by = size / s2;
    first.add(u(0, 0) * u(0, 0) * by);
    pair.add(u(0, 0) * u(1, 0) * by);
    apart.add(u(0, 0) * u(0, 1) * by);
    inverse.add(by);
    const Eigen::MatrixXd left = v - u * (u.cwiseProduct(v).sum() / u.squaredNorm());
    back_first.add(left(0, 0) * left(0, 0) * by);
    back_last.add(left(4, 0) * left(4, 0) * by);
    back_pair.add(left(0, 0) * left(2, 0) * by);
    back_apart.add(left(0, 0) * left(0, 1) * by);
  }
  const auto agrees = [](const Sample& found, double value) {
    return std::fabs(found.mean() - value) < 5 * found.standard_error();
  };
  CHECK(agrees(first, forward.second[0]));
  CHECK(agrees(pair, forward.cross(0, 1)));
  CHECK(agrees(apart, forward.between(0, 0)));
  CHECK(agrees(inverse, directions.inverse()));
  CHECK(agrees(back_first, back.second[0]));
  CHECK(agrees(back_last, back.second[4]));
  CHECK(agrees(back_pair, back.cross(0, 2)));
  CHECK(agrees(back_apart, back.between(0, 0)));
  // Two levels, of what sequences share and what not, leave the first sample larger than it is.
  const SampleLevels levels = sample_levels(average(inside), {tokens, batch});
  CHECK(
      !agrees(first, inside.second[0] * sample_orders(levels, {tokens, batch}, 1).forward.within));
}

// Of features that do not scatter a norm changes nothing but the size, and of samples that are
// alike it is what two levels say.
TEST_CASE("samples that are alike have the directions of two levels") {
  Parts x{Eigen::MatrixXd::Constant(tokens, tokens, 0.1), Eigen::MatrixXd(tokens, tokens)};
  x.own = Eigen::MatrixXd::Identity(tokens, tokens);
  const PerPosition inside = centred(x.state(), tokens, batch);
  const Counts over{tokens, batch};
  const SampleDirections still(inside, over, 0);
  CHECK(still.inverse() == near(1));
  CHECK(still.forward(inside).second[0] == near(inside.second[0]));
  const SampleOrders orders = sample_orders(sample_levels(average(inside), over), over, 1);
  const SampleDirections directions(inside, over, 1);
  // Steps of ln t of both integrals.
  constexpr double steps = 1e-9;
  CHECK(directions.inverse() == near(orders.inverse, steps));
  const SampleLevels forward = sample_levels(average(directions.forward(inside)), over),
                     from = sample_levels(average(inside), over),
                     back = sample_levels(average(directions.back(inside, 0.5)), over),
                     expected = orders.back(from, 0.5);
  CHECK(forward.within == near(orders.forward.within * from.within, steps));
  CHECK(forward.between == near(orders.forward.between * from.between, steps));
  CHECK(back.within == near(expected.within, steps));
  CHECK(back.between == near(expected.between, steps));
}

// Of a sum, what has been divided before does not scatter by itself: where it is all in one sample
// that is a larger part of the scatter than of the size.
TEST_CASE("the scatter of a sum is that of its parts' levels") {
  Parts even{Eigen::MatrixXd::Zero(tokens, tokens), Eigen::MatrixXd::Identity(tokens, tokens)};
  Parts one{Eigen::MatrixXd::Zero(tokens, tokens), Eigen::MatrixXd::Zero(tokens, tokens)};
  one.own(0, 0) = tokens;
  const Counts over{tokens, batch};
  const double noise = batch_noise_of_sum(even.state(), 1, one.state(), 0, over);
  const PerPosition a = centred(even.state(), tokens, batch),
                    b = centred(one.state(), tokens, batch);
  // tr S^2 over all samples, of which those of two sequences have the crosses that centring makes.
  const auto trace = [](const PerPosition& s, const PerPosition& t) {
    double all = batch * (s.second * t.second).sum();
    for (int i = 0; i < tokens; ++i)
      for (int j = 0; j < tokens; ++j)
        all += (i == j ? 0 : batch * s.cross(i, j) * t.cross(i, j)) +
               batch * (batch - 1) * s.between(i, j) * t.between(i, j);
    return all;
  };
  const double of_even = trace(a, a), of_one = trace(b, b), both = 2 * trace(a, b);
  CHECK(noise == near((of_even + both) / (of_even + of_one + both)));
  CHECK(noise < 0.5);
}
