#include "moments/key_weights.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "moments/positions.hpp"
#include "smooth_state.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

const std::vector<KeyBias> biases = {{0.9, 0}, {0.2, 3}};

double pi(const KeyBias& of, int t, int s) {
  const int first = of.window > 0 ? std::max(0, t + 1 - static_cast<int>(of.window)) : 0;
  double sum = 0;
  for (int r = first; r <= t; ++r) sum += std::exp(-of.slope * (t - r));
  return s <= t && s >= first ? std::exp(-of.slope * (t - s)) / sum : 0;
}

KeyWeights weights_of(const PerPosition& x) {
  return KeyWeights(biases, x.positions);
}

double entry(const PerPosition& x, int s, int r) {
  return s == r ? x.second[s] : x.cross(s, r);
}

/// (J_t V J_u)_sr of one head.
double bent(const PerPosition& v, const KeyBias& bias, int t, int u, int s, int r) {
  double of_t = 0, of_u = 0, of_both = 0;
  for (int a = 0; a <= t; ++a) of_t += pi(bias, t, a) * entry(v, a, r);
  for (int b = 0; b <= u; ++b) of_u += pi(bias, u, b) * entry(v, s, b);
  for (int a = 0; a <= t; ++a)
    for (int b = 0; b <= u; ++b) of_both += pi(bias, t, a) * pi(bias, u, b) * entry(v, a, b);
  return pi(bias, t, s) * pi(bias, u, r) * (entry(v, s, r) - of_t - of_u + of_both);
}

constexpr int count = 6;

}  // namespace

TEST_CASE("the slopes of ALiBi are those of transformers' build_alibi_tensor") {
  const auto as = [](std::int64_t heads, std::vector<double> powers) {
    const std::vector<double> made = alibi_slopes(heads);
    REQUIRE(made.size() == powers.size());
    for (std::size_t h = 0; h < made.size(); ++h)
      CHECK(made[h] == doctest::Approx(std::exp2(-powers[h])));
  };
  as(1, {8});
  as(2, {4, 8});
  as(3, {4, 8, 2});
  as(8, {1, 2, 3, 4, 5, 6, 7, 8});
  as(12, {1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5});
}

TEST_CASE("means over keys that weigh unequally, by counting") {
  const PerPosition x = smooth(count);
  const KeyWeights weights = weights_of(x);
  const KeyMeans<PerPosition> means = weights.means(x);
  for (int t = 0; t < count; ++t)
    for (int u = 0; u < count; ++u) {
      double same = 0, other = 0, shared = 0;
      for (const KeyBias& bias : biases)
        for (int s = 0; s < count; ++s)
          for (int r = 0; r < count; ++r) {
            const double weight = pi(bias, t, s) * pi(bias, u, r) / 2;
            (s == r ? same : other) += weight * entry(x, s, r);
            if (s == r) shared += weight;
          }
      CHECK(weights.overlap()(t, u) == doctest::Approx(shared));
      CHECK(means.same.cross(t, u) == doctest::Approx(same / shared));
      if (t + u > 0) CHECK(means.other.cross(t, u) == doctest::Approx(other / (1 - shared)));
    }
  CHECK(means.other.second[0] == means.same.second[0]);
}

TEST_CASE("from queries back to keys that weigh unequally, by counting") {
  const PerPosition same = smooth(count), other = scaled(same, -0.5);
  const KeyWeights weights = weights_of(same);
  const PerPosition keys = weights.to_keys(same, other);
  for (int s = 0; s < count; ++s)
    for (int r = 0; r < count; ++r) {
      double sum = 0;
      for (const KeyBias& bias : biases)
        for (int t = 0; t < count; ++t)
          for (int u = 0; u < count; ++u) {
            const double shared = weights.overlap()(t, u), all = s == r ? shared : 1 - shared;
            const double weight = pi(bias, t, s) * pi(bias, u, r) / 2;
            if (weight > 0 && all > 1e-9) sum += entry(s == r ? same : other, t, u) * weight / all;
          }
      CHECK(entry(keys, s, r) == doctest::Approx(sum));
    }
}

TEST_CASE("what comes back through scores of keys that weigh unequally, by counting") {
  const PerPosition values = smooth(count), keys = scaled(smooth(count), 0.5);
  const KeyWeights weights = weights_of(values);
  const PerPosition found = weights.through_scores(values, keys);
  const PerPosition at_keys = weights.scores_to_keys(values, keys);
  for (int t = 0; t < count; ++t)
    for (int u = 0; u < count; ++u) {
      double sum = 0, slope_overlap = 0, back = 0;
      for (const KeyBias& bias : biases)
        for (int s = 0; s < count; ++s)
          for (int r = 0; r < count; ++r) {
            sum += bent(values, bias, t, u, s, r) * entry(keys, s, r) / 2;
            back += entry(keys, s, r) * bent(values, bias, s, r, t, u) / 2;
            const PerPosition alone = spread_over({0, 1, 0, 0}, values.positions, 1);
            if (s == r) slope_overlap += bent(alone, bias, t, u, s, s) / 2;
          }
      CHECK(entry(found, t, u) == doctest::Approx(sum));
      CHECK(entry(at_keys, t, u) == doctest::Approx(back));
      CHECK(weights.slopes_overlap()(t, u) == doctest::Approx(slope_overlap));
    }
}

// Slopes that hardly bend leave a mask whose keys are alike.
TEST_CASE("a bias that is almost none gives the rules of a mask") {
  const PerPosition x = smooth(count);
  const double slope = 1e-7, moved = 2 * count * slope;  // each weight by count slopes at most
  const KeyWeights weights({KeyBias{slope, 0}}, x.positions);
  const KeyCounts<double> counts{count, count, true, false};
  const KeyMeans<PerPosition> means = weights.means(x), masked = key_means(x, x, counts);
  CHECK(means.same.cross.isApprox(masked.same.cross, moved));
  CHECK(means.other.cross.isApprox(masked.other.cross, moved));
  const PerPosition back = weights.to_keys(x, x), of_mask = to_keys(x, x, x, counts);
  CHECK(back.second.isApprox(of_mask.second, moved));
  CHECK(back.cross.isApprox(of_mask.cross, moved));
}

TEST_CASE("many heads are as few of their slopes") {
  const PerPosition x = smooth(count);
  std::vector<KeyBias> many;
  Eigen::ArrayXXd sum = Eigen::ArrayXXd::Zero(count, count);
  for (const double slope : alibi_slopes(64)) {
    many.push_back({slope, 0});
    sum += KeyWeights({many.back()}, x.positions).overlap() / 64.0;
  }
  // Four neighbours span 2^(3/8): a twenty-fourth of the square of its logarithm.
  CHECK(KeyWeights(many, x.positions).overlap().isApprox(sum, std::pow(std::log(2) / 2, 2) / 24));
}

TEST_CASE("keys that weigh unequally and turn, by counting") {
  const PerPosition values = smooth(count), keys = scaled(smooth(count), 0.5);
  const KeyWeights weights = weights_of(values);
  const double theta = 0.7;
  const PerPosition found = weights.through_turned_scores(values, keys, {{theta, 0.4}, {0, 0.6}});
  const Eigen::ArrayXXd pairs = weights.turned_pairs(theta);
  for (int t = 0; t < count; ++t)
    for (int u = 0; u < count; ++u) {
      double sum = 0, turned = 0;
      for (const KeyBias& bias : biases)
        for (int s = 0; s < count; ++s)
          for (int r = 0; r < count; ++r) {
            const double c = std::cos((t - s - u + r) * theta);
            sum += bent(values, bias, t, u, s, r) * entry(keys, s, r) * (0.4 * c + 0.6) / 2;
            turned += pi(bias, t, s) * pi(bias, u, r) * c / 2;
          }
      CHECK(entry(found, t, u) == doctest::Approx(sum));
      CHECK(pairs(t, u) == doctest::Approx(turned));
    }
}

TEST_CASE("ALiBi parts tokens, and as little as it bends") {
  const std::string model =
      "[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\nffn = 64\nvocab = 16\n"
      "sequence = 12\ncausal = true\n";
  const Trace plain = trace_of_model(model), biased = trace_of_model(model + "alibi = 1\n");
  CHECK(biased.sites.back().cosine() < plain.sites.back().cosine());
  // Apart from what keys of a mask are unlike by, which neither follows to all orders.
  const Trace few = trace_of_model(model + "alibi = 1e-7\n");
  for (std::size_t k = 0; k < plain.sites.size(); ++k) {
    const Figure &bent = few.sites[k].cross, &straight = plain.sites[k].cross;
    CHECK(std::fabs(bent.value - straight.value) <= bent.truncation + straight.truncation);
  }
}
