#include "moments/equal_words.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "sample.hpp"

namespace scalecalc::moments {
namespace {

constexpr double deviations = 4.5;
using Vector = std::vector<double>;

class WordDraws {
 public:
  Vector vector(double std) {
    Vector x(static_cast<std::size_t>(features));
    for (double& f : x) f = std * normal_(random_);
    return x;
  }
  static constexpr int features = 512;

 private:
  std::mt19937_64 random_{3};
  std::normal_distribution<double> normal_;
};

double dot(const Vector& x, const Vector& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum / static_cast<double>(x.size());
}
Vector combined(double a, const Vector& x, double b, const Vector& y) {
  Vector made(x);
  for (std::size_t i = 0; i < x.size(); ++i) made[i] = a * x[i] + b * y[i];
  return made;
}

// Two tokens h = q e + f of one word, whose f have a share in common, and gradients b e + c + a h
// of which c, what targets make, is of each by itself. A norm takes what is along h.
TEST_CASE("gradients of two tokens of one word below a norm") {
  const double q = 0.8, f = 0.6, common = 0.4, b = 1.3, others = 0.9;
  for (const double a : {0.0, 0.35}) {
    WordDraws draw;
    testing::Sample one, two, left_one, left_two;
    constexpr int draws = 400;
    for (int i = 0; i < draws; ++i) {
      const Vector e = draw.vector(1), both = draw.vector(f * std::sqrt(common));
      Vector h[2], g[2], left[2];
      for (int t = 0; t < 2; ++t) {
        const Vector own = draw.vector(f * std::sqrt(1 - common));
        h[t] = combined(q, e, 1, combined(1, both, 1, own));
        g[t] = combined(1, combined(b, e, a, h[t]), 1, draw.vector(others));
        left[t] = combined(1, g[t], -dot(g[t], h[t]) / dot(h[t], h[t]), h[t]);
      }
      one.add(dot(g[0], g[0]));
      two.add(dot(g[0], g[1]));
      left_one.add(dot(left[0], left[0]));
      left_two.add(dot(left[0], left[1]));
    }
    const double m = q * q + f * f, r = q * q + f * f * common, kappa = 0.2, apart = 0.1;
    OwnWord own;
    own.word = b;
    own.along = b * q / m;
    own.same = kappa;
    own.overlap = (r - apart) / m;
    const Alike<double> h{0, m, kappa * r + (1 - kappa) * apart, 0};
    CHECK(overlap_of_word(h, own) == doctest::Approx(r));
    const double second = b * b + others * others + a * a * m + 2 * a * b * q,
                 pair = b * b + a * a * r + 2 * a * b * q;
    CHECK(std::fabs(one.mean() - second) < deviations * one.standard_error());
    CHECK(std::fabs(two.mean() - pair) < deviations * two.standard_error());
    const double found = equal_below_norm(pair / second, second, h, own.along + a, own);
    // Of what is random one feature of n lies along h.
    const double error = std::hypot(left_two.standard_error(),
                                    left_two.mean() / left_one.mean() * left_one.standard_error());
    CHECK(std::fabs(left_two.mean() / left_one.mean() - found) <
          deviations * error / left_one.mean() + 2.0 / WordDraws::features);
    // Of weights alone one token has all that is along h squared.
    const double all = own.along + a, made = second - a * a * m - 2 * a * b * q + all * all * m;
    CHECK(equal_below_head((b * b + all * all * m) / made, made, h, all, own) ==
          doctest::Approx(pair / second));
  }
}

TEST_CASE("what is along a token itself equal tokens have wholly") {
  const double equal = 0.3, second = 2, more = 0.5;
  const double with = equal_with(equal, second, more);
  CHECK(with == doctest::Approx((0.3 * 2 + 0.5) / 2.5));
  // A norm takes it again.
  CHECK(equal_with(with, second + more, -more) == doctest::Approx(equal));
  CHECK(equal_of_both(equal, 1, with, 3) == doctest::Approx((equal + 3 * with) / 4));
}

}  // namespace
}  // namespace scalecalc::moments
