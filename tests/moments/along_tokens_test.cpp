#include "moments/along_tokens.hpp"

#include <Eigen/Dense>
#include <random>

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

constexpr std::int64_t tokens = 7;

PerPosition state_of(const Eigen::MatrixXd& m) {
  PerPosition x = spread_over(Pairs{0, 1, 0, 0}, make_positions(tokens, true), 2);
  x.second = m.diagonal().array();
  x.cross = m.array();
  // Weight 0, but any number.
  for (Eigen::Index t = 0; t < tokens; ++t) x.cross(t, t) = 0.7 + 0.1 * static_cast<double>(t);
  x.between = m.array() * 0.3;
  return x;
}
Eigen::MatrixXd matrix_of(const PerPosition& x) {
  Eigen::MatrixXd m = x.cross.matrix();
  m.diagonal() = x.second.matrix();
  return m;
}
Eigen::MatrixXd symmetric(unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd m(tokens, tokens);
  for (Eigen::Index t = 0; t < tokens; ++t)
    for (Eigen::Index u = 0; u <= t; ++u) m(t, u) = m(u, t) = normal(random);
  return m;
}
void check_equal(const Eigen::MatrixXd& found, const Eigen::MatrixXd& expected) {
  const double size = expected.cwiseAbs().maxCoeff();
  for (Eigen::Index t = 0; t < tokens; ++t)
    for (Eigen::Index u = 0; u < tokens; ++u)
      CHECK(found(t, u) == rounded(expected(t, u), 64, size));
}

}  // namespace

TEST_CASE("sums over the tokens of a sequence are products of matrices") {
  const Eigen::MatrixXd k = symmetric(1), l = symmetric(2), r = symmetric(3);
  const PerPosition state = state_of(r), of_k = state_of(k), of_l = state_of(l);
  const double all = static_cast<double>(tokens);
  check_equal(matrix_of(over_tokens(of_k, state, all)), k * r);
  check_equal(over_tokens(of_k, state, all).between.matrix(), k * (0.3 * r));
  check_equal(matrix_of(along_both(of_k, of_l, state, all)), k * r * l);
  const Eigen::MatrixXd h = l * r;
  check_equal(matrix_of(meeting(of_k, over_tokens(of_l, state, all), all)),
              k * h.transpose() + h * k);
}

TEST_CASE("alike tokens give what the same tokens by position give") {
  const Pairs k{0, 1.5, -0.2, 0}, r{0, 2, 0.5, 0.25};
  const auto all = make_positions(300, true), grid = make_positions(300, false);
  for (const auto& positions : {all, grid}) {
    const PerPosition of_k = spread_over(k, positions, 2), of_r = spread_over(r, positions, 2);
    const auto check = [](const Alike<double>& found, const Alike<double>& expected) {
      CHECK(found.second == near(expected.second));
      CHECK(found.cross == near(expected.cross));
      CHECK(found.between == near(expected.between));
    };
    check(average(over_tokens(of_k, of_r, 300.0)), over_tokens(k, r, 300.0));
    check(average(along_both(of_k, of_k, of_r, 300.0)), along_both(k, k, r, 300.0));
    check(average(meeting(of_k, of_r, 300.0)), meeting(k, r, 300.0));
  }
}

// Weights of scores that do not vary: every token gets the mean over all of what all mixes have.
TEST_CASE("what comes back from even weights is the mean over tokens") {
  const double all = static_cast<double>(tokens);
  const Pairs k{0, 1.5, -0.2, 0};
  const double whole = (k.second + (all - 1) * k.cross) / all;
  const KeyCounts<double> counts{all, all};
  const Pairs even{0, 1 / all, 1 / all, 0};
  const Pairs found = tokens_to_keys(k, even, Pairs{0, 1, 0, 0}, counts);
  CHECK(found.second == near(whole));
  CHECK(found.cross == near(whole));
}

// Behind a tied head a word's embedding has what pairs of that word have.
TEST_CASE("along the words of a sequence") {
  const Pairs found = along_word(Pairs{0, 0.8, 0.8, 0.8}, -2, 0.25);
  CHECK(found.second == near(-1.6));
  CHECK(found.cross == near(-0.4));
  CHECK(found.between == near(-0.4));
}
