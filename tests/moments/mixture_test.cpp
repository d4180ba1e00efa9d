#include "moments/mixture.hpp"

#include <doctest/doctest.h>

#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <random>

#include "sample.hpp"
#include "tolerance.hpp"

namespace scalecalc::moments {
namespace {

/// As many layers of dropout at this rate on a stream as there are shares; before each but the
/// first the share of the whole that a new normal part has is added.
struct Stream {
  double rate;
  std::vector<double> fresh;
  Mixture mixture() const {
    Mixture x;
    for (std::size_t n = 0; n < fresh.size(); ++n) {
      if (n > 0) x = mixed_sum(x, {}, 1 - fresh[n], 1 - fresh[n]).sum;
      x = dropped(x, rate);
    }
    return x;
  }
};

/// One feature of two tokens that correlate by c, E x^2 = 1, with the last mask of each.
struct Feature {
  double x, y;
  bool kept;
};
class Draw {
 public:
  explicit Draw(const Stream& of) : of_(of) {}
  Feature operator()(double c) {
    const double kept = 1 - of_.rate;
    Feature f{0, 0, true};
    for (std::size_t n = 0; n < of_.fresh.size(); ++n) {
      const double a = normal_(draw_), b = c * a + std::sqrt(1 - c * c) * normal_(draw_);
      const double new_part = n > 0 ? std::sqrt(of_.fresh[n]) : 1;
      const double old_part = n > 0 ? std::sqrt(1 - of_.fresh[n]) : 0;
      f.x = old_part * f.x + new_part * a;
      f.y = old_part * f.y + new_part * b;
      f.kept = uniform_(draw_) < kept;
      // Relative to E x^2, which dropout makes 1/(1 - p) of.
      f.x *= f.kept ? 1 / std::sqrt(kept) : 0;
      f.y *= uniform_(draw_) < kept ? 1 / std::sqrt(kept) : 0;
    }
    return f;
  }

 private:
  const Stream& of_;
  std::mt19937_64 draw_{7};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

constexpr double deviations = 4.5;

void check_mean(const testing::Sample& sample, double predicted, double bound = 0) {
  CAPTURE(sample.mean());
  CHECK(std::fabs(sample.mean() - predicted) < deviations * sample.standard_error() + bound);
}

TEST_CASE("kinds of features add up to their moments") {
  const Mixture once = dropped({}, 0.4);
  CHECK((once.weight * once.variance).sum() == doctest::Approx(1));
  CHECK(once.square() == doctest::Approx(1 / 0.6));
  const Mixture stream = Stream{0.4, {1, 0.5, 0.3, 0.2}}.mixture();
  CHECK(stream.weight.size() == 5);
  CHECK(stream.weight.sum() == doctest::Approx(1));
  CHECK((stream.weight * stream.variance).sum() == doctest::Approx(1));
  const Eigen::VectorXd weight = stream.weight.matrix();
  CHECK(weight.dot(stream.cross.matrix() * weight) == doctest::Approx(1));
}

TEST_CASE("merging many kinds keeps what they add up to") {
  Mixture x = dropped({}, 0.1), f = dropped({}, 0.3);
  double square = x.square();
  for (int n = 0; n < 12; ++n) {
    square = 1 + 0.49 * (square - 1) + 0.09 * (f.square() - 1);
    x = mixed_sum(x, f, 0.7, 0.7).sum;
    CHECK(x.weight.size() <= 16);
    CHECK(x.weight.sum() == doctest::Approx(1));
    CHECK((x.weight * x.variance).sum() == doctest::Approx(1));
    CHECK(x.weight.minCoeff() >= 0);
    // What a merger loses of E v^2 is of second order in how far apart two kinds are.
    CHECK(x.square() <= square + 1e-12);
    CHECK(x.square() > 1 + 0.97 * (square - 1));
    square /= 0.9;
    x = dropped(x, 0.1);
  }
}

TEST_CASE("kinds that are left where most features are dropped keep their sizes") {
  // A stream that grows has kinds of 1, 1e-2, 1e-4 .. of its variance, by the mask that dropped it
  // last: those below a size are as many as have been dropped since.
  constexpr double rate = 0.3;
  std::vector<double> fresh;
  for (int n = 0; n < 24; ++n) fresh.push_back(std::pow(10.0, -n / 2.0));
  const Mixture x = Stream{rate, fresh}.mixture();
  for (const double size : {1e-1, 1e-3, 1e-6}) CHECK((x.variance < size).any());
  // Dropped by the last mask alone, nothing is left.
  double none = 0;
  for (Eigen::Index i = 0; i < x.weight.size(); ++i)
    if (x.variance[i] == 0) none += x.weight[i];
  CHECK(none == doctest::Approx(rate));
}

TEST_CASE("fourth moments of a stream with dropout") {
  const Stream of{0.4, {1, 0.5, 0.3}};
  Draw draw(of);
  testing::Sample second, fourth, product;
  for (int n = 0; n < 400000; ++n) {
    const Feature f = draw(0.3);
    second.add(f.x * f.x);
    fourth.add(f.x * f.x * f.x * f.x);
    product.add(f.x * f.y);
  }
  check_mean(second, 1);
  check_mean(fourth, 3 * of.mixture().square());
  // Masks of two tokens are independent, so E x y stays as E x^2 grows by 1/0.6 each time.
  double cross = 0.3;
  for (std::size_t k = 0; k < of.fresh.size(); ++k)
    cross = 0.6 * ((1 - of.fresh[k]) * (k > 0 ? cross : 0) + (k > 0 ? of.fresh[k] * 0.3 : 0.3));
  check_mean(product, cross);
}

TEST_CASE("sizes of tokens with dropout behind a norm") {
  constexpr int width = 24, tokens = 40000;
  for (const double rate : {0.1, 0.4}) {
    const Stream of{rate, {1, 0.5, 0.3}};
    const Mixture mixture = of.mixture();
    const MixtureNorm norm = mixture_norm(mixture, width, 0);
    Draw draw(of);
    testing::Sample inverse, root, along, kept_inverse, logarithm;
    for (int n = 0; n < tokens; ++n) {
      double square = 0, kept = 0;
      double last = 0;
      for (int j = 0; j < width; ++j) {
        const Feature f = draw(0);
        square += f.x * f.x / width;
        kept += f.kept ? 1.0 / width : 0;
        last = f.x;
      }
      inverse.add(1 / square);
      logarithm.add(std::log(square));
      root.add(1 / std::sqrt(square));
      along.add(last * last / width / (square * square));
      kept_inverse.add(kept / square);
    }
    CAPTURE(rate);
    const double once = (mixture.weight * norm.inverse).sum();
    check_mean(inverse, once);
    // Of a lognormal; its variance is known to second order. That of normal features is trigamma.
    const double variance = logarithm.standard_error() * logarithm.standard_error() * (tokens - 1);
    const double scatter = std::log1p(norm.scatter), all = scatter + 2.0 / width;
    const double by_chance = deviations * all * std::sqrt(2.0 / tokens);
    CHECK(variance - boost::math::trigamma(width / 2.0) ==
          testing::within(scatter, all * all + by_chance));
    check_mean(root, (mixture.weight * norm.root).sum());
    check_mean(along, (mixture.weight * norm.along).sum());
    const Eigen::Index kinds = mixture.weight.size() - 1;
    check_mean(kept_inverse, (mixture.weight * norm.inverse).head(kinds).sum());
  }
}

TEST_CASE("cosines of tokens with dropout behind a norm") {
  constexpr int width = 48, tokens = 40000;
  const Stream of{0.4, {1, 0.5}};
  const Mixture mixture = of.mixture();
  const MixtureNorm norm = mixture_norm(mixture, width, 0);
  const double c = 0.2;
  Draw draw(of);
  testing::Sample cosine, product;
  for (int n = 0; n < tokens; ++n) {
    double x = 0, y = 0, both = 0;
    for (int j = 0; j < width; ++j) {
      const Feature f = draw(c);
      x += f.x * f.x;
      y += f.y * f.y;
      both += f.x * f.y;
    }
    product.add(both / width);
    cosine.add(both / std::sqrt(x * y));
  }
  // Normal features' own 1 - (1 - c^2)/(2d); what is left out is of order 1/d^2 and c^3/d.
  const double normal = 1 - (1 - c * c) / (2 * width);
  const double left_out = c * (4.0 / (width * width) + c * c / width);
  check_mean(cosine, product.mean() * norm.forward * normal,
             left_out + deviations * product.standard_error());
}

TEST_CASE("one kind is what normal features are") {
  const MixtureNorm none = mixture_norm({}, 32, 0);
  CHECK(none.forward == 1);
  CHECK(none.alive == 1);
  KindGradient gradient;
  const KindFactors factors = below_norm(none, {}, 1, gradient);
  CHECK(factors.second == 1);
  CHECK(factors.cross == 1);
  // E 1/s2 of d normal features is d/(d - 2).
  Mixture one{Eigen::ArrayXd::Ones(1), Eigen::ArrayXd::Ones(1), Eigen::ArrayXXd::Ones(1, 1)};
  const MixtureNorm norm = mixture_norm(one, 32, 0);
  CHECK(norm.normal_inverse == doctest::Approx(32.0 / 30).epsilon(1e-6));
  CHECK(norm.inverse[0] == doctest::Approx(norm.normal_inverse));
  CHECK(norm.forward == doctest::Approx(1));
}

// Of K features left E 1/s2 is d (1 - p)/(K - 2): it does not exist for one and two, which are left
// out, and counted.
TEST_CASE("tokens of one feature or two have no mean behind a norm") {
  constexpr int width = 12;
  for (const double rate : {0.3, 0.6}) {
    const double kept = 1 - rate;
    double inverse = 0, few = 0, chance = std::pow(rate, width);
    for (int k = 1; k <= width; ++k) {
      chance *= (width - k + 1) * kept / (k * rate);
      if (k > 2) inverse += chance * width * kept / (k - 2);
      if (k <= 2) few += chance;
    }
    const Mixture mixture = dropped({}, rate);
    const MixtureNorm norm = mixture_norm(mixture, width, 0);
    CHECK(norm.few == doctest::Approx(few));
    // Of three features 1/s2 past 1e6, which the sum ends at, has 1e-3 of E 1/s2.
    constexpr double cut = 1e-3;
    CHECK((mixture.weight * norm.inverse).sum() == doctest::Approx(inverse).epsilon(cut));
  }
}

// A norm between two masks takes out what the first has done to |x|^2. Given K1 features of the
// first and K of both, E 1/s2 of a direction among K1 is (K1 - 2)/(K - 2), times 1 - p.
TEST_CASE("a norm since the last mask takes out what masks before it did") {
  constexpr int width = 64;
  constexpr double kept = 0.9;
  const Mixture mixture = dropped(dropped({}, 1 - kept), 1 - kept);
  const double variance = 3 * (1 - kept) / (kept * kept) / width;
  const double all = 3 * mixture.square() * (1 - 1 / mixture.square()) / width;
  const MixtureNorm norm = mixture_norm(mixture, width, 0, 3, variance / all);
  std::mt19937_64 random(3);
  std::binomial_distribution<int> first(width, kept);
  testing::Sample inverse;
  for (int n = 0; n < 200000; ++n) {
    const int before = first(random);
    const int after = std::binomial_distribution<int>(before, kept)(random);
    inverse.add(kept * (before - 2) / (after - 2));
  }
  const double found = (mixture.weight * norm.inverse).sum() / norm.normal_inverse;
  // What is left out is of the order of the square of what masks do.
  check_mean(inverse, found, all * all);
}

TEST_CASE("tokens that are 0 in every feature stay 0") {
  CHECK(mixture_norm(dropped({}, 0.5), 3, 1e-5).alive == doctest::Approx(1 - 0.125));
}

}  // namespace
}  // namespace scalecalc::moments
