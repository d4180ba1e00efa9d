#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "moments/norm_variance.hpp"
#include "moments/width_moments.hpp"
#include "sample.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

/// Of two tokens of a draw, E y_t^2 and E y_t y_u over features.
struct Sizes {
  double one = 0, other = 0, both = 0;
};

struct Covariances {
  double size = 0, between = 0, with_overlap = 0;  ///< of the sum's sizes and of one's with y_t y_u
};

/// y = phi(u) + phi(v), each of n features, over draws of u and v of cosine c: relative
/// covariances.
Covariances drawn(const Activation& phi, int width, double c) {
  constexpr int draws = 20000;
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<Sizes> all;
  Sizes mean;
  for (int draw = 0; draw < draws; ++draw) {
    Sizes sizes;
    for (int i = 0; i < width; ++i) {
      double first = 0, second = 0;
      for (int part = 0; part < 2; ++part) {
        const double u = normal(random), v = c * u + std::sqrt(1 - c * c) * normal(random);
        first += phi.value(u);
        second += phi.value(v);
      }
      sizes.one += first * first / width;
      sizes.other += second * second / width;
      sizes.both += first * second / width;
    }
    mean.one += sizes.one / draws;
    mean.other += sizes.other / draws;
    mean.both += sizes.both / draws;
    all.push_back(sizes);
  }
  Covariances found;
  for (const Sizes& sizes : all) {
    const double one = sizes.one / mean.one - 1, other = sizes.other / mean.other - 1,
                 both = sizes.both / mean.both - 1;
    found.size += one * one / draws;
    found.between += one * other / draws;
    found.with_overlap += one * both / draws;
  }
  return found;
}

/// Averages and fluctuations of phi of Gaussian features, none of whose sizes fluctuate.
struct Part {
  Pairs x;
  NormVariance spread;
};
Part activated(const Activation& phi, int width, double c, const Counts& counts) {
  const WidthMoments moments = width_moments(phi, 0, 1);
  const auto sizes = [&](double scale) { return size_moments(phi, 0, scale); };
  const Pairs u{0, 1, c, 0};
  double cross = 0, power = 1;
  for (const double term : moments.pair_series) {
    cross += term * power;
    power *= c;
  }
  NormVariance in;
  in.token_variance = 2.0 / width;
  in.batch_variance = in.token_variance * pairs_squared(u, counts);
  const Passage passed = passage(sizes, moments, log_size(in, width), width);
  const double mean = std::sqrt(moments.pair_series[0]);
  return {{mean, moments.second, cross, mean * mean},
          through_activation(in, passed, moments, u, width, counts)};
}

}  // namespace

// Two streams of features that have a mean add up with the product of both, which fluctuates with
// either: what tokens do not share is the same share of the sum's variance as of either part's.
TEST_CASE("sizes of a sum of features with means fluctuate as those of draws") {
  constexpr int width = 100;
  const Counts counts{6, 2};
  for (const char* name : {"abs", "relu", "softplus"}) {
    const Activation phi = Activation::named(name);
    for (const double c : {0.99, 0.6}) {
      CAPTURE(name);
      CAPTURE(c);
      const Covariances is = drawn(phi, width, c);
      const Part part = activated(phi, width, c, counts);
      NormVariance branch = part.spread;
      branch.susceptibility = 0;
      const NormVariance sum = through_sum(part.spread, branch, part.x, part.x, width, counts);
      Pairs y = scaled(part.x, 2);
      y.mean = 2 * part.x.mean;
      y.second += 2 * part.x.mean * part.x.mean;
      y.cross += 2 * part.x.mean * part.x.mean;
      y.between += 2 * part.x.mean * part.x.mean;
      const double between = within_sequence(sum.token_variance, sum.batch_variance, y, counts);
      // That a mean goes as the root of its size holds to a tenth of relu's.
      CHECK(sum.token_variance == near(is.size, 0.1));
      CHECK(is.size - is.between == near(sum.token_variance - between, 0.2));
      CHECK(std::fabs(sum.decorrelation - (is.size - is.with_overlap)) < 0.05 * is.size);
    }
  }
}
