#include "moments/relative_bias.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "moments/positions.hpp"
#include "smooth_state.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

const RelativeBias kBias{8, 20};

double entry(const PerPosition& x, int s, int r) {
  return s == r ? x.second[s] : x.cross(s, r);
}

/// Whether key s of row t and key r of row u have the same bucket.
bool same(bool causal, int t, int s, int u, int r) {
  return relative_bucket(kBias, causal, s - t) == relative_bucket(kBias, causal, r - u);
}

/// sum (J_t V J_u)_sr over pairs of keys in the same bucket, J of weights that are all alike.
double summed(const PerPosition& v, int t, int u) {
  const double n = t + 1, m = u + 1;
  double sum = 0;
  for (int s = 0; s <= t; ++s)
    for (int r = 0; r <= u; ++r) {
      if (!same(true, t, s, u, r)) continue;
      double of_t = 0, of_u = 0, of_both = 0;
      for (int a = 0; a <= t; ++a) of_t += entry(v, a, r) / n;
      for (int b = 0; b <= u; ++b) of_u += entry(v, s, b) / m;
      for (int a = 0; a <= t; ++a)
        for (int b = 0; b <= u; ++b) of_both += entry(v, a, b) / (n * m);
      sum += (entry(v, s, r) - of_t - of_u + of_both) / (n * m);
    }
  return sum;
}

}  // namespace

TEST_CASE("relative biases of tokens that are alike, by counting") {
  for (const int tokens : {2, 5, 30}) {
    CAPTURE(tokens);
    double row = 0, key = 0, two = 0, rows = 0, keys = 0, pairs = 0;
    for (int t = 0; t < tokens; ++t)
      for (int u = 0; u < tokens; ++u)
        for (int s = 0; s < tokens; ++s)
          for (int r = 0; r < tokens; ++r) {
            const double found = same(false, t, s, u, r) ? 1 : 0;
            if (t == u && s != r) row += found, ++rows;
            if (t != u && s == r) key += found, ++keys;
            if (t != u && s != r) two += found, ++pairs;
          }
    const Alike<double> made = bias_overlap(kBias, tokens).covariance;
    CHECK(made.second == doctest::Approx(1 - row / rows));
    CHECK(made.cross == doctest::Approx(key / keys - two / pairs));
  }
  CHECK(bias_overlap(kBias, 1).covariance.second == 0);
}

TEST_CASE("a bias that all keys but one share varies between heads as one number squared") {
  // Two tokens of which each key has a bucket of its own: C has one eigenvalue.
  CHECK(bias_overlap(kBias, 2).row_variance == doctest::Approx(2));
}

TEST_CASE("relative biases under a mask, by counting") {
  constexpr int count = 9;
  const PerPosition values = smooth(count);
  const BucketRows rows(kBias, values.positions);
  const Eigen::ArrayXXd through = rows.through(values);
  for (int t = 0; t < count; ++t)
    for (int u = 0; u < count; ++u) {
      CHECK(through(t, u) == doctest::Approx(summed(values, t, u)).scale(rounding(count * count)));
      CHECK(rows.slopes()(t, u) ==
            doctest::Approx((1 - 1.0 / (std::min(t, u) + 1)) / (std::max(t, u) + 1)));
    }
}

TEST_CASE("between positions keys are those of the tokens") {
  // What is linear between positions is interpolated without an error: of equal tokens nothing is
  // left, and of different ones their own part alone.
  const PerPosition sparse = uniform(smooth(200, false), {0, 1, 0.25, 0});
  const BucketRows rows(kBias, sparse.positions);
  const Eigen::Index last = sparse.second.size() - 1;
  const BucketRows all(kBias, make_positions(200, true));
  const PerPosition dense = uniform(smooth(200), {0, 1, 0.25, 0});
  CHECK(rows.through(sparse)(last, last) == doctest::Approx(all.through(dense)(199, 199)));
}

TEST_CASE("relative biases sharpen rows, and do nothing at std 0 but have a gradient") {
  for (const char* mask : {"", "causal = true\n"}) {
    CAPTURE(mask);
    const std::string model =
        std::string(
            "[model]\nkind = \"transformer\"\nlayers = 3\nwidth = 32\nheads = 4\n"
            "ffn = 64\nvocab = 16\nsequence = 12\n") +
        mask;
    const Trace plain = trace_of_model(model);
    const Trace zero = trace_of_model(model + "relative_buckets = 8\nrelative_std = 0\n");
    const Trace biased = trace_of_model(model + "relative_buckets = 8\nrelative_std = 1\n");
    REQUIRE(plain.sites.size() == zero.sites.size());
    const std::string mix = "block[0].attn.mix";
    CHECK(site(biased, mix).second.value > site(plain, mix).second.value);
    for (std::size_t k = 0; k < plain.sites.size(); ++k) {
      const Figure &one = zero.sites[k].grad_second, &other = plain.sites[k].grad_second;
      // Both are the same but for where averages over a softmax are looked up.
      CHECK(std::fabs(one.value - other.value) <= one.truncation + other.truncation);
    }
    int tables = 0;
    for (const ParameterMoments& moments : biased.parameters) {
      if (!moments.path.ends_with("relative_bias")) continue;
      ++tables;
      CHECK(moments.second.value == 1);
      CHECK(moments.grad_second.value > 0);
    }
    CHECK(tables == 1);
  }
}
