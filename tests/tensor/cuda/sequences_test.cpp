#include <limits>
#include <utility>

#include "compare.hpp"

namespace scalecalc::tensor {

TEST_CASE_TEMPLATE("cuda: dropout masks are the CPU's", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const auto& [count, shared] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 1}, {4097, 1}, {4097, 30}}) {
    const Stream mask{5, stream_id("mask")};
    const auto x = pair.random(count, 1), y = pair.random(count, 2);
    pair.run([&](Device<Real>& d, int k) {
      d.dropout_forward(mask, 0.3, shared, count, x.on(k), y.on(k));
    });
    CHECK(y.difference() == 0.0);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 3);
      pair.run([&](Device<Real>& d, int k) {
        d.dropout_backward(mask, 0.3, shared, count, x.on(k), {dx.on(k), adds});
      });
      // The CPU may add with one rounding less.
      CHECK(dx.difference() <= (adds ? 4.0 * Pair<Real>::eps * largest(dx.read(0)) : 0.0));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: draws are the CPU's, bit for bit", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const auto kind : {Draw::Kind::normal, Draw::Kind::uniform, Draw::Kind::truncated_normal}) {
    for (const std::int64_t count : {1, 2, 100003}) {
      const Draw draw{kind, 0.37, {11, stream_id("draw")}};
      const auto y = pair.random(count, 1);
      pair.run([&](Device<Real>& d, int k) { d.draw(draw, count, y.on(k)); });
      CHECK(y.read(0) == y.read(1));
    }
  }
}

TEST_CASE_TEMPLATE("cuda: relative biases", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const BiasShape& s : {BiasShape{1, 1, 1, 1, 2}, {2, 3, 37, 41, 8}, {1, 12, 130, 130, 32}}) {
    CAPTURE(s.tokens);
    const std::int64_t count = s.sequences * s.heads * s.tokens * s.keys;
    std::vector<std::int32_t> rows;
    for (std::int64_t i = 0; i < s.tokens * s.keys; ++i)
      rows.push_back(static_cast<std::int32_t>(i * i % s.buckets));
    const auto buckets = pair.indices(rows);
    const auto table = pair.random(s.buckets * s.heads, 1), y = pair.random(count, 2);
    pair.run([&](Device<Real>& d, int k) {
      d.relative_forward(s, buckets.on(k), table.on(k), y.on(k));
    });
    CHECK(y.difference() == 0.0);
    // Both sum n terms in double, in orders of their own, each addition with its rounding, and
    // round the sum once.
    const auto dtable = pair.random(s.buckets * s.heads, 3);
    const double n = static_cast<double>(s.sequences * s.tokens * s.keys);
    const double size = n * largest(y.read(0));
    const double rounding = n * std::numeric_limits<double>::epsilon() + 2 * Pair<Real>::eps;
    pair.run([&](Device<Real>& d, int k) {
      d.relative_backward(s, buckets.on(k), y.on(k), dtable.on(k));
    });
    CHECK(dtable.difference() <= rounding * size);
  }
}

TEST_CASE_TEMPLATE("cuda: rotary positions", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const RotaryShape& s :
       {RotaryShape{1, 1, 1, 2, 2}, {2, 37, 3, 10, 6}, {3, 300, 4, 64, 64}}) {
    CAPTURE(s.tokens);
    const std::int64_t count = s.sequences * s.tokens * s.heads * s.head_width;
    const auto x = pair.random(count, 1), y = pair.random(count, 2);
    const auto turns = pair.random(s.tokens * s.width, 4);
    // Two products.
    const double size = largest(x.read(0)) + largest(y.read(0)) + largest(turns.read(0)) + 4.0;
    pair.run([&](Device<Real>& d, int k) { d.rotary_forward(s, turns.on(k), x.on(k), y.on(k)); });
    CHECK(y.difference() <= tolerance<Real>(2, size));
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 3);
      pair.run([&](Device<Real>& d, int k) {
        d.rotary_backward(s, turns.on(k), x.on(k), {dx.on(k), adds});
      });
      CHECK(dx.difference() <= tolerance<Real>(2, size));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: pooling, moments and sums", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const SequenceShape& s : {SequenceShape{1, 1, 1}, {3, 1, 40}, {2, 17, 33}, {5, 64, 70}}) {
    CAPTURE(s.tokens);
    const std::int64_t count = s.sequences * s.tokens * s.width;
    const auto x = pair.random(count, 1), other = pair.random(count, 2);
    const auto y = pair.random(s.sequences * s.width, 3);
    const double size = largest(x.read(0)) * largest(other.read(0)) + 4.0;
    pair.run([&](Device<Real>& d, int k) { d.pool_forward(s, x.on(k), y.on(k)); });
    CHECK(y.difference() <= tolerance<Real>(1, size));
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 4);
      pair.run([&](Device<Real>& d, int k) { d.pool_backward(s, y.on(k), {dx.on(k), adds}); });
      CHECK(dx.difference() <= tolerance<Real>(1, size));
    });
    // Sums in double of exact products: n eps n |a b|, and moments divide by n.
    const double n = static_cast<double>(count), eps = std::numeric_limits<double>::epsilon();
    Moments moments[2];
    double dots[2], errors[2];
    pair.run([&](Device<Real>& d, int k) {
      moments[k] = d.moments(s, x.on(k));
      dots[k] = d.dot(count, x.on(k), other.on(k));
      errors[k] = d.squared_error_forward(count, x.on(k), other.on(k));
    });
    const double square = 4.0 * size * size;
    CHECK(std::fabs(moments[0].mean - moments[1].mean) <= 4.0 * n * eps * square);
    CHECK(std::fabs(moments[0].second - moments[1].second) <= 4.0 * n * eps * square);
    CHECK(std::isnan(moments[0].cross) == std::isnan(moments[1].cross));
    if (s.tokens > 1) {
      CHECK(std::fabs(moments[0].cross - moments[1].cross) <= 4.0 * n * eps * square);
    }
    CHECK(std::fabs(dots[0] - dots[1]) <= 4.0 * n * n * eps * square);
    CHECK(std::fabs(errors[0] - errors[1]) <= 4.0 * n * n * eps * square);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 5);
      pair.run([&](Device<Real>& d, int k) {
        d.squared_error_backward(count, x.on(k), other.on(k), 0.3, {dx.on(k), adds});
      });
      CHECK(dx.difference() <= tolerance<Real>(1, size));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: sums are the same bits each time", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t count = 300007;
  const auto x = pair.random(count, 1), y = pair.random(count, 2);
  const double first = pair.devices[1]->dot(count, x.on(1), y.on(1));
  CHECK(pair.devices[1]->dot(count, x.on(1), y.on(1)) == first);
}

TEST_CASE_TEMPLATE("cuda: embeddings", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const std::int64_t width : {1, 40, 300}) {
    const std::int64_t tokens = 333, rows = 20;
    std::vector<std::int32_t> some(static_cast<std::size_t>(tokens));
    fill_indices({3, stream_id("ids")}, rows - 1, tokens, some.data());
    const auto ids = pair.indices(some);
    const auto table = pair.random(rows * width, 1), dy = pair.random(tokens * width, 2);
    const auto y = pair.random(tokens * width, 3), dtable = pair.random(rows * width, 4);
    pair.run([&](Device<Real>& d, int k) {
      d.embedding_forward(tokens, width, ids.on(k), table.on(k), y.on(k));
      d.embedding_backward(tokens, width, ids.on(k), dy.on(k), dtable.on(k));
    });
    CHECK(y.difference() == 0.0);
    CHECK(dtable.difference() <= tolerance<Real>(60, largest(dy.read(0)) + 4.0));
  }
}

TEST_CASE_TEMPLATE("cuda: cross entropy", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const std::int64_t classes : {1, 5, 1000}) {
    CAPTURE(classes);
    const std::int64_t tokens = 37;
    std::vector<std::int32_t> some(static_cast<std::size_t>(tokens));
    fill_indices({4, stream_id("targets")}, classes, tokens, some.data());
    const auto targets = pair.indices(some);
    const auto logits = pair.random(tokens * classes, 1, 5.0), p = pair.random(tokens * classes, 2);
    double losses[2];
    pair.run([&](Device<Real>& d, int k) {
      losses[k] = d.cross_entropy_forward(tokens, classes, logits.on(k), targets.on(k), p.on(k));
    });
    // A sum of `classes` terms of at most 1, whose exponents are off by eps times their size.
    const double size = 2.0 * largest(logits.read(0)) + 1.0;
    const double relative = Pair<Real>::eps * (static_cast<double>(classes) + 8.0 * size);
    CHECK(p.difference() <= 2.0 * relative);
    CHECK(std::fabs(losses[0] - losses[1]) <=
          2.0 * static_cast<double>(tokens) * (relative + Pair<Real>::eps * size));
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(tokens * classes, 3);
      pair.run([&](Device<Real>& d, int k) {
        d.cross_entropy_backward(tokens, classes, p.on(k), targets.on(k), 0.3, {dx.on(k), adds});
      });
      CHECK(dx.difference() <= 2.0 * relative + 8.0 * Pair<Real>::eps * largest(dx.read(0)));
    });
  }
}

}  // namespace scalecalc::tensor
