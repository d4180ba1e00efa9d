#include "moments/attention_rotation.hpp"

#include <doctest/doctest.h>
#include <cmath>

#include "moments/positions.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

Attention rotary(std::int64_t head_width, std::int64_t width, double base) {
  Attention layer;
  layer.head_width = head_width;
  layer.rotary = {width, base};
  layer.causal = true;
  return layer;
}

/// Angles of its own, and turned features that are larger than those that stay.
Attention stretched(std::int64_t head_width, std::vector<double> theta, double attention) {
  Attention layer = rotary(head_width, 2 * static_cast<std::int64_t>(theta.size()), 10000);
  layer.rotary.theta = std::move(theta);
  layer.rotary.attention = attention;
  return layer;
}

double c(const Attention& layer, int distance) {
  const auto width = static_cast<double>(layer.rotary.width);
  const double turned = std::pow(layer.rotary.attention, 4);
  const double stays = static_cast<double>(layer.head_width) - width;
  double sum = stays;
  for (int i = 0; 2 * i < layer.rotary.width; ++i) {
    const double theta = layer.rotary.theta.empty()
                             ? std::pow(layer.rotary.base, -2 * i / width)
                             : layer.rotary.theta[static_cast<std::size_t>(i)];
    sum += 2 * turned * std::cos(distance * theta);
  }
  return sum / (stays + turned * width);
}

/// Second 1 + t/T, cross (1 + (s + t)/2T) e^{-|t - u|/T} 3/4.
PerPosition tokens(std::int64_t count, bool all = true) {
  PerPosition x =
      spread_over({0, 1, 0.5, 0}, make_positions(count, all, false, Spacing::turned), 1);
  const double length = static_cast<double>(count);
  for (Eigen::Index t = 0; t < x.second.size(); ++t) {
    const double at = x.positions->at[t] / length;
    x.second[t] = 1 + at;
    for (Eigen::Index u = 0; u < x.second.size(); ++u) {
      const double other = x.positions->at[u] / length;
      x.cross(t, u) = 0.75 * (1 + (at + other) / 2) * std::exp(-std::abs(at - other));
    }
  }
  return x;
}

PerPosition apart_of(const PerPosition& x) {
  const KeyMeans<PerPosition> means = key_means(x, x, {0, 0, true});
  return combine(means.same, means.other, [](double same, double other) { return same - other; });
}

const std::vector<Attention> layers = {rotary(8, 8, 10000), rotary(8, 4, 100), rotary(6, 2, 2),
                                       stretched(6, {0.5, 0.125}, 1.25),
                                       stretched(4, {1, 0.01}, 1.5)};

}  // namespace

TEST_CASE("rotary cosines of tokens that are alike, by counting") {
  for (const Attention& layer : layers) {
    const int count = 7;
    const RotaryMeans<Alike<double>> means = rotary_means(layer, count);
    double pairs = 0, mean = 0, squares = 0, both = 0, of_both = 0;
    for (int s = 0; s < count; ++s)
      for (int r = 0; r < count; ++r) {
        if (s == r) continue;
        pairs += 1;
        mean += c(layer, s - r);
        squares += c(layer, s - r) * c(layer, s - r);
        for (int t = 0; t < count; ++t)
          for (int u = 0; u < count; ++u) {
            if (t == u) continue;
            both += 1;
            of_both += c(layer, t - u - s + r);
          }
      }
    mean /= pairs;
    CHECK(means.cosine.same.second == 1);
    CHECK(means.cosine.same.cross == doctest::Approx(mean));
    CHECK(means.cosine.other.second == doctest::Approx(mean));
    CHECK(means.cosine.other.cross == doctest::Approx(of_both / both));
    CHECK(means.variance.second == doctest::Approx(squares / pairs - mean * mean));
  }
  CHECK(rotary_means(layers.front(), 1).cosine.other.second == 1);
}

TEST_CASE("rotary cosines of rows of a mask, by counting") {
  for (const Attention& layer : layers) {
    const PerPosition x = tokens(6);
    const RotaryMeans<PerPosition> means = masked_rotary_means(layer, x);
    for (int t = 0; t < 6; ++t)
      for (int u = 0; u < 6; ++u) {
        double pairs = 0, sum = 0;
        for (int s = 0; s <= std::min(t, u); ++s)
          for (int r = 0; r <= std::min(t, u); ++r) {
            if (s == r) continue;
            pairs += 1;
            sum += c(layer, t - u - s + r);
          }
        if (t != u) CHECK(means.cosine.same.cross(t, u) == doctest::Approx(c(layer, t - u)));
        if (t != u && pairs > 0)
          CHECK(means.cosine.other.cross(t, u) == doctest::Approx(sum / pairs));
        if (t == u && pairs > 0)
          CHECK(means.cosine.other.second[t] == doctest::Approx(sum / pairs));
      }
  }
}

TEST_CASE("D' as gradients weigh it, by counting") {
  for (const Attention& layer : layers) {
    const int count = 6;
    const PerPosition values = tokens(count), keys = scaled(tokens(count), 0.5);
    const RotaryMeans<PerPosition> means = masked_rotary_means(layer, keys);
    const PerPosition apart = apart_of(values);
    const PerPosition found = turned_by_values(layer, means.cosine.same.cross, values, keys, apart);
    const auto overlap = [](const PerPosition& x, int s, int r) {
      return s == r ? x.second[s] : x.cross(s, r);
    };
    const auto mean_of = [&](int s, int u) {
      double sum = 0;
      for (int r = 0; r <= u; ++r) sum += overlap(values, s, r);
      return sum / (u + 1);
    };
    for (int t = 1; t < count; ++t)
      for (int u = 1; u < count; ++u) {
        double all = 0, sum = 0, trace = 0, own = 0;
        const int fewer = std::min(t, u);
        for (int s = 0; s <= t; ++s) all += mean_of(s, u) / (t + 1);
        for (int s = 0; s <= t; ++s)
          for (int r = 0; r <= u; ++r)
            sum += (overlap(values, s, r) - mean_of(s, u) - mean_of(r, t) + all) *
                   overlap(keys, s, r) * c(layer, t - s - u + r);
        for (int s = 0; s <= fewer; ++s) {
          trace += overlap(values, s, s);
          own += mean_of(s, fewer);
        }
        const double of_pair = t == u ? 1 : apart.cross(t, u) / apart.second[fewer];
        const double expected = sum / ((trace - own) * of_pair);
        CHECK((t == u ? found.second[t] : found.cross(t, u)) == doctest::Approx(expected));
      }
  }
}

// Of each row and pair of rows, all that comes to its keys, as the sum over them says it too.
TEST_CASE("what comes back to turned keys, by counting") {
  for (const Attention& layer : layers) {
    const int count = 6;
    const PerPosition values = tokens(count), apart = apart_of(values);
    PerPosition gradient = scaled(tokens(count), 0.3);
    gradient.cross *= -1;
    const PerPosition found = turned_to_keys(layer, values, apart, gradient);
    const auto overlap = [&](int s, int r) {
      return s == r ? values.second[s] : values.cross(s, r);
    };
    const auto mean_of = [&](int s, int u) {
      double sum = 0;
      for (int r = 0; r <= u; ++r) sum += overlap(s, r);
      return sum / (u + 1);
    };
    for (int s = 0; s < count; ++s)
      for (int r = 0; r < count; ++r) {
        double expected = 0;
        for (int t = std::max(s, 1); t < count; ++t)
          for (int u = std::max(r, 1); u < count; ++u) {
            const int fewer = std::min(t, u);
            double all = 0, trace = 0;
            for (int k = 0; k <= t; ++k) all += mean_of(k, u) / (t + 1);
            for (int k = 0; k <= fewer; ++k) trace += overlap(k, k) - mean_of(k, fewer);
            const double of_pair = t == u ? 1 : apart.cross(t, u) / apart.second[fewer];
            const double g = t == u ? gradient.second[t] : gradient.cross(t, u);
            expected += g * (overlap(s, r) - mean_of(s, u) - mean_of(r, t) + all) *
                        c(layer, t - s - u + r) / (trace * of_pair);
          }
        CHECK((s == r ? found.second[s] : found.cross(s, r)) == doctest::Approx(expected));
      }
  }
}

TEST_CASE("D' of tokens without a structure is c m - c' r") {
  const Attention layer = layers.front();
  const PerPosition x = spread_over({0, 1, 0.6, 0}, make_positions(9, true), 1);
  const RotaryMeans<PerPosition> means = masked_rotary_means(layer, x);
  const PerPosition found = turned_by_values(layer, means.cosine.same.cross, x, x, apart_of(x));
  for (int t = 1; t < 9; ++t) {
    CHECK(found.second[t] == doctest::Approx(1 - 0.6 * means.cosine.other.second[t]));
    for (int u = 1; u < t; ++u)
      CHECK(found.cross(t, u) ==
            doctest::Approx(means.cosine.same.cross(t, u) - 0.6 * means.cosine.other.cross(t, u)));
  }
}

// Steps of an eighth leave 1/64 of what falls as 1/t, and the last position of a row stands for
// half a step of keys beyond it, which counts twice.
TEST_CASE("some positions say what all of them do") {
  const Attention layer = layers.front();
  const PerPosition all = tokens(160), some = tokens(160, false);
  REQUIRE(some.second.size() < all.second.size());
  const auto found = [&](const PerPosition& x) {
    const RotaryMeans<PerPosition> means = masked_rotary_means(layer, x);
    return std::pair{
        average(means.cosine.same).cross,
        average(turned_by_values(layer, means.cosine.same.cross, x, x, apart_of(x))).second};
  };
  const auto [cosine, apart] = found(all);
  const auto [of_some, apart_of_some] = found(some);
  CHECK(of_some == doctest::Approx(cosine).epsilon(1.0 / 64));
  CHECK(apart_of_some == doctest::Approx(apart).epsilon(1.0 / 8));
}

TEST_CASE("rotation gives keys a bias that counts, and queries more to learn from") {
  const std::string model =
      "[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 32\nheads = 4\nffn = 64\nvocab = 16\n"
      "sequence = 12\nbias = true\n[input]\ncross = 0.5\n";
  for (const char* causal : {"false", "true"}) {
    const std::string masked = "causal = " + std::string(causal) + "\n";
    const auto with = [&](const std::string& line) {
      std::string text = model;
      return trace_of_model(text.insert(text.find("bias"), masked + line));
    };
    const Trace plain = with("");
    const Trace turned = with("rotary_base = 100\n");
    CHECK(parameter(turned, "block[0].attn.k.bias").grad_second.value > 0);
    CHECK(parameter(plain, "block[0].attn.k.bias").grad_second.value == 0);
    const auto typical = [](const Trace& trace) {
      const auto& weight = parameter(trace, "block[0].attn.q.weight");
      return weight.grad_second.value * std::exp(-weight.grad_spread / 2);
    };
    CHECK(typical(turned) > typical(plain));
  }
}
