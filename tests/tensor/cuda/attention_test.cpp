#include "../attention_shape.hpp"
#include "compare.hpp"

namespace scalecalc::tensor {
namespace {

/// Below, at and across the edges of a tile of 32 or 64 queries and of 64 or 128 features.
const AttentionShape kShapes[] = {
    {1, 1, 1, 1, false, 1.0},
    {2, 5, 3, 3, true, 0.6},
    {1, 64, 2, 16, true, 0.25},
    {2, 70, 2, 24, false, 0.2},
    {1, 131, 1, 33, true, 0.17},
    {1, 40, 1, 70, true, 0.12},
    {1, 33, 2, 150, false, 0.08},
    with({2, 33, 4, 8, true, 0.35}, 2, 0, 0.0),
    with({1, 35, 6, 5, false, 0.4}, 1, 0, 0.0),
    with({2, 9, 2, 12, false, 0.3}, 2, 75, 0.0),
    with({2, 66, 4, 7, true, 0.4}, 2, 0, 0.4),
    with({1, 34, 4, 6, false, 0.4}, 2, 67, 0.25),
};

/// What rounding may do to an attention: weights are off by what the exponents are, which are sums
/// of head_width products, and sums over keys and tokens add to that.
template <class Real>
struct Bounds {
  Bounds(const AttentionShape& s, double q, double k, double v, double dmix) {
    const double width = static_cast<double>(s.head_width);
    const double keys = static_cast<double>(s.key_tokens());
    const double rows = static_cast<double>(s.tokens * (s.heads / s.key_heads()));
    const double kept = 1.0 / (1.0 - s.dropout);
    const double score = s.scale * width * q * k;
    relative = 2.0 * Pair<Real>::eps * (2.0 * width * score + keys + rows + 16.0);
    const double slope = 2.0 * s.scale * kept * width * dmix * v;
    mix = relative * kept * v;
    log_sums = relative * (1.0 + std::log(keys));
    dq = relative * slope * k;
    dk = relative * slope * rows * q;
    dv = relative * kept * rows * dmix;
  }
  double relative, mix, log_sums, dq, dk, dv;
};

/// What an attention reads and writes, and how far two devices may be apart in it.
template <class Real>
struct Operands {
  Operands(const Pair<Real>& pair, const AttentionShape& s)
      : count(s.sequences * s.tokens * s.width()),
        key_count(s.sequences * s.key_tokens() * s.key_width()),
        q(pair.random(count, 1)),
        k(pair.random(key_count, 2)),
        v(pair.random(key_count, 3)),
        dmix(pair.random(count, 4)),
        sums(pair.random(s.weight_rows(), 5)),
        mix(pair.random(count, 6)),
        allowed(s, largest(q.read(0)), largest(k.read(0)), largest(v.read(0)),
                largest(dmix.read(0))) {}
  std::int64_t count, key_count;
  Both<Real> q, k, v, dmix, sums, mix;
  Bounds<Real> allowed;
};

}  // namespace

TEST_CASE_TEMPLATE("cuda: attention", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const AttentionShape& s : kShapes) {
    CAPTURE(s.tokens);
    CAPTURE(s.head_width);
    CAPTURE(s.kv_heads);
    CAPTURE(s.keys);
    CAPTURE(s.dropout);
    const Operands<Real> operands(pair, s);
    const auto& [count, key_count, q, k, v, dmix, sums, mix, allowed] = operands;
    pair.run([&](Device<Real>& d, int at) {
      d.attention_forward(s, q.on(at), k.on(at), v.on(at), sums.on(at), mix.on(at));
    });
    CHECK(mix.difference() <= allowed.mix);
    CHECK(sums.difference() <= allowed.log_sums);
    pair.run_written_and_added([&](bool adds) {
      const auto dq = pair.random(count, 7), dk = pair.random(key_count, 8);
      const auto dv = pair.random(key_count, 9);
      pair.run([&](Device<Real>& d, int at) {
        d.attention_backward(s, q.on(at), k.on(at), v.on(at), sums.on(at), mix.on(at), dmix.on(at),
                             {dq.on(at), adds}, {dk.on(at), adds}, {dv.on(at), adds});
      });
      CHECK(dq.difference() <= allowed.dq + allowed.relative);
      CHECK(dk.difference() <= allowed.dk + allowed.relative);
      CHECK(dv.difference() <= allowed.dv + allowed.relative);
    });
  }
}

TEST_CASE_TEMPLATE("cuda: scores that are kept", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const AttentionShape& s : kShapes) {
    CAPTURE(s.tokens);
    CAPTURE(s.head_width);
    CAPTURE(s.kv_heads);
    CAPTURE(s.keys);
    CAPTURE(s.dropout);
    const Operands<Real> operands(pair, s);
    const auto& [count, key_count, q, k, v, dmix, sums, mix, allowed] = operands;
    const std::int64_t score_count = s.weight_rows() * s.key_tokens();
    const auto before = pair.random(score_count, 10), scores = pair.random(score_count, 11);
    const double sum_of_scores =
        largest(before.read(0)) +
        s.scale * static_cast<double>(s.head_width) * largest(q.read(0)) * largest(k.read(0));
    pair.run([&](Device<Real>& d, int at) {
      d.scores_forward(s, q.on(at), k.on(at), nullptr, scores.on(at));
    });
    CHECK(scores.difference() <= allowed.relative * std::fabs(sum_of_scores));
    pair.run([&](Device<Real>& d, int at) {
      d.scores_forward(s, q.on(at), k.on(at), before.on(at), scores.on(at));
    });
    CHECK(scores.difference() <= allowed.relative * std::fabs(sum_of_scores));
    pair.run([&](Device<Real>& d, int at) {
      d.mix_forward(s, before.on(at), v.on(at), sums.on(at), mix.on(at));
    });
    CHECK(mix.difference() <= allowed.mix);
    CHECK(sums.difference() <= allowed.log_sums);
    const auto hidden = pair.random(score_count, 13);
    pair.devices[0]->mix_backward(s, before.on(0), v.on(0), sums.on(0), mix.on(0), dmix.on(0),
                                  {hidden.on(0), false}, {});
    const auto given = pair.array(hidden.read(0));  // with a 0 wherever the mask hides a key
    pair.run_written_and_added([&](bool adds) {
      const auto dq = pair.random(count, 7), dk = pair.random(key_count, 8);
      const auto dv = pair.random(key_count, 9), dscores = pair.random(score_count, 12);
      pair.run([&](Device<Real>& d, int at) {
        d.mix_backward(s, before.on(at), v.on(at), sums.on(at), mix.on(at), dmix.on(at),
                       {dscores.on(at), adds}, {dv.on(at), adds});
      });
      CHECK(dscores.difference() <= allowed.relative + allowed.dq / std::fabs(s.scale));
      CHECK(dv.difference() <= allowed.dv + allowed.relative);
      pair.run([&](Device<Real>& d, int at) {
        d.scores_backward(s, q.on(at), k.on(at), given.on(at), {dq.on(at), adds},
                          {dk.on(at), adds});
      });
      const double keys = static_cast<double>(s.key_tokens() + s.tokens) *
                          static_cast<double>(s.heads / s.key_heads());
      const double product = std::fabs(s.scale) * keys * largest(given.read(0));
      CHECK(dq.difference() <= allowed.relative * (1.0 + product * largest(k.read(0))));
      CHECK(dk.difference() <= allowed.relative * (1.0 + product * largest(q.read(0))));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: attention gives each gradient alone", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const AttentionShape s = with({1, 35, 4, 6, true, 0.4}, 2, 0, 0.3);
  const std::int64_t count = s.tokens * s.width(), key_count = s.tokens * s.key_width();
  const auto q = pair.random(count, 1), k = pair.random(key_count, 2),
             v = pair.random(key_count, 3);
  const auto dmix = pair.random(count, 4), sums = pair.random(s.weight_rows(), 5);
  const auto mix = pair.random(count, 6);
  Device<Real>& device = *pair.devices[1];
  device.attention_forward(s, q.on(1), k.on(1), v.on(1), sums.on(1), mix.on(1));
  const auto run = [&](Into<Real> dq, Into<Real> dk, Into<Real> dv) {
    device.attention_backward(s, q.on(1), k.on(1), v.on(1), sums.on(1), mix.on(1), dmix.on(1), dq,
                              dk, dv);
  };
  const auto dq = pair.random(count, 7), dk = pair.random(key_count, 8);
  const auto dv = pair.random(key_count, 9), dq1 = pair.random(count, 10);
  const auto dk1 = pair.random(key_count, 11), dv1 = pair.random(key_count, 12);
  run({dq.on(1), false}, {dk.on(1), false}, {dv.on(1), false});
  run({dq1.on(1), false}, {}, {});
  run({}, {dk1.on(1), false}, {});
  run({}, {}, {dv1.on(1), false});
  CHECK(dq.read(1) == dq1.read(1));
  CHECK(dk.read(1) == dk1.read(1));
  CHECK(dv.read(1) == dv1.read(1));
}

TEST_CASE_TEMPLATE("cuda: large scores neither overflow nor give NaN", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const AttentionShape s{1, 70, 1, 4, true, 1e4};
  const std::int64_t count = s.tokens * s.width();
  const auto q = pair.random(count, 1), k = pair.random(count, 2), v = pair.random(count, 3);
  const auto sums = pair.random(s.weight_rows(), 5), mix = pair.random(count, 6);
  pair.devices[1]->attention_forward(s, q.on(1), k.on(1), v.on(1), sums.on(1), mix.on(1));
  for (const Real x : mix.read(1)) CHECK(std::isfinite(x));
}

}  // namespace scalecalc::tensor
