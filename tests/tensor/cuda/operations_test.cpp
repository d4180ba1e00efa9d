#include "compare.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc::tensor {

TEST_CASE_TEMPLATE("cuda: products", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const LinearShape& s : {LinearShape{1, 1, 1}, {3, 5, 7}, {33, 17, 65}, {70, 40, 9}}) {
    CAPTURE(s.tokens);
    const auto x = pair.random(s.tokens * s.fan_in, 1), w = pair.random(s.fan_in * s.fan_out, 2);
    const auto bias = pair.random(s.fan_out, 3), dy = pair.random(s.tokens * s.fan_out, 4);
    const double size = largest(x.read(0)) * largest(w.read(0)) + largest(bias.read(0));
    const auto y = pair.random(s.tokens * s.fan_out, 5), phi = pair.random(s.tokens * s.fan_out, 6);
    pair.run(
        [&](Device<Real>& d, int k) { d.linear_forward(s, x.on(k), w.on(k), nullptr, y.on(k)); });
    CHECK(y.difference() <= tolerance<Real>(s.fan_in, size));
    pair.run([&](Device<Real>& d, int k) {
      d.linear_forward(s, x.on(k), w.on(k), bias.on(k), y.on(k));
    });
    CHECK(y.difference() <= tolerance<Real>(s.fan_in, size));
    for (const bool biased : {false, true}) {
      pair.run([&](Device<Real>& d, int k) {
        d.linear_activation_forward(s, x.on(k), w.on(k), biased ? bias.on(k) : nullptr,
                                    ActivationKind::gelu, y.on(k), phi.on(k));
      });
      CHECK(y.difference() <= tolerance<Real>(s.fan_in, size));
      // |gelu'| < 1.13
      CHECK(phi.difference() <= 2.0 * tolerance<Real>(s.fan_in, size));
    }
    const double slope = largest(dy.read(0)) * std::max(size, largest(w.read(0))) + 4.0;
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(s.tokens * s.fan_in, 7),
                 dw = pair.random(s.fan_in * s.fan_out, 8);
      const auto db = pair.random(s.fan_out, 9);
      pair.run([&](Device<Real>& d, int k) {
        d.linear_backward_input(s, dy.on(k), w.on(k), {dx.on(k), adds});
        d.linear_backward_weight(s, x.on(k), dy.on(k), {dw.on(k), adds});
        d.bias_backward(s.tokens, s.fan_out, dy.on(k), {db.on(k), adds});
      });
      CHECK(dx.difference() <= tolerance<Real>(s.fan_out, slope));
      CHECK(dw.difference() <= tolerance<Real>(s.tokens, slope));
      CHECK(db.difference() <= tolerance<Real>(s.tokens, slope));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: sums down the columns of many rows", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t tokens = 700, width = 37;
  const auto x = pair.random(tokens * width, 1), dy = pair.random(tokens * width, 2);
  const auto gain = pair.random(width, 3), shift = pair.random(width, 4);
  const auto y = pair.random(tokens * width, 5);
  pair.run([&](Device<Real>& d, int k) {
    d.affine_forward(tokens, width, x.on(k), gain.on(k), shift.on(k), y.on(k));
  });
  const double size = largest(x.read(0)) * largest(dy.read(0)) + 4.0;
  CHECK(y.difference() <= tolerance<Real>(1, 4.0 * size));
  pair.run_written_and_added([&](bool adds) {
    const auto dx = pair.random(tokens * width, 6), dgain = pair.random(width, 7);
    const auto dshift = pair.random(width, 8);
    pair.run([&](Device<Real>& d, int k) {
      d.affine_backward(tokens, width, x.on(k), gain.on(k), dy.on(k), {dx.on(k), adds},
                        {dgain.on(k), adds}, {dshift.on(k), adds});
    });
    CHECK(dx.difference() <= tolerance<Real>(1, 4.0 * size));
    // Sums in Real of 700 terms; rounding adds up like their number, not its square.
    CHECK(dgain.difference() <= 2.0 * tokens * Pair<Real>::eps * std::sqrt(tokens) * size);
    CHECK(dshift.difference() <= 2.0 * tokens * Pair<Real>::eps * std::sqrt(tokens) * size);
  });
}

TEST_CASE_TEMPLATE("cuda: activations with kernels of their own", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t count = 1001;
  const auto x = pair.random(count, 1, 3.0), dy = pair.random(count, 2);
  for (int kind = 0; kind < 6; ++kind) {
    CAPTURE(kind);
    const auto phi = static_cast<ActivationKind>(kind);
    const auto y = pair.random(count, 3);
    pair.run([&](Device<Real>& d, int k) { d.activation_forward(phi, count, x.on(k), y.on(k)); });
    // A few units in the last place of |phi| + |x phi'|, below 2 |x| + 2 for all of them.
    const double size = 2.0 * largest(x.read(0)) + 2.0;
    CHECK(y.difference() <= 16.0 * Pair<Real>::eps * size);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 4);
      pair.run([&](Device<Real>& d, int k) {
        d.activation_backward(phi, count, x.on(k), dy.on(k), {dx.on(k), adds});
      });
      CHECK(dx.difference() <= 16.0 * Pair<Real>::eps * size * largest(dy.read(0)));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: activations from their expressions", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t count = 777;
  const auto x = pair.random(count, 1, 3.0), dy = pair.random(count, 2);
  for (const Activation& phi :
       {Activation::named("mish"), Activation::named("leaky_relu"),
        Activation::from_expression("x*exp(-x^2)"), Activation::from_expression("sin(x)/x")}) {
    CAPTURE(phi.name());
    const auto y = pair.random(count, 3);
    pair.run([&](Device<Real>& d, int k) { d.function_forward(phi, count, x.on(k), y.on(k)); });
    const double size = 2.0 * largest(x.read(0)) + 2.0;
    CHECK(y.difference() <= 32.0 * Pair<Real>::eps * size);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 4);
      pair.run([&](Device<Real>& d, int k) {
        d.function_backward(phi, count, x.on(k), dy.on(k), {dx.on(k), adds});
      });
      CHECK(dx.difference() <= 32.0 * Pair<Real>::eps * size * largest(dy.read(0)));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: weights of experts, and rows times their weight", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t tokens = 61, experts = 9, count = tokens * experts;
  const auto z = pair.random(count, 1), dy = pair.random(count, 2), x = pair.random(count, 3);
  const auto w = pair.random(count, 4), y = pair.random(count, 5);
  const double terms = static_cast<double>(experts);
  const double size = terms * largest(x.read(0)) * largest(dy.read(0)) + 8.0;
  for (const bool sigmoid : {false, true})
    for (const bool normalised : {false, true}) {
      const RouteShape routes{tokens, experts, 3, sigmoid, normalised};
      pair.run([&](Device<Real>& d, int k) { d.route_forward(routes, z.on(k), w.on(k)); });
      CHECK(w.difference() <= 32.0 * Pair<Real>::eps * terms);
      pair.run_written_and_added([&](bool adds) {
        const auto dz = pair.random(count, 6);
        pair.run([&](Device<Real>& d, int k) {
          d.route_backward(routes, z.on(k), w.on(k), dy.on(k), {dz.on(k), adds});
        });
        CHECK(dz.difference() <= 32.0 * Pair<Real>::eps * size);
      });
    }
  const RowsShape rows{tokens, experts, experts};
  pair.run([&](Device<Real>& d, int k) { d.weigh_rows_forward(rows, x.on(k), w.on(k), y.on(k)); });
  CHECK(y.difference() <= 32.0 * Pair<Real>::eps * size);
  pair.run_written_and_added([&](bool adds) {
    const auto dx = pair.random(count, 7), dw = pair.random(count, 8);
    pair.run([&](Device<Real>& d, int k) {
      d.weigh_rows_backward(rows, x.on(k), w.on(k), dy.on(k), {dx.on(k), adds}, {dw.on(k), adds});
    });
    CHECK(dx.difference() <= 32.0 * Pair<Real>::eps * size);
    CHECK(dw.difference() <= 32.0 * Pair<Real>::eps * size);
  });
}

TEST_CASE_TEMPLATE("cuda: products by entry, blends, fills and steps", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t count = 5003;
  const auto a = pair.random(count, 1), b = pair.random(count, 2), dy = pair.random(count, 3);
  const auto y = pair.random(count, 4);
  const double size = largest(a.read(0)) * largest(b.read(0)) + 8.0;
  pair.run([&](Device<Real>& d, int k) { d.multiply_forward(count, a.on(k), b.on(k), y.on(k)); });
  CHECK(y.difference() == 0.0);
  pair.run([&](Device<Real>& d, int k) {
    d.blend_forward(count, 1.3, a.on(k), -0.4, b.on(k), y.on(k));
  });
  CHECK(y.difference() <= tolerance<Real>(1, size));
  const std::vector<Real> step = values<Real>(count, 9);
  pair.run([&](Device<Real>& d, int k) { d.add_from_host(count, -0.3, step.data(), y.on(k)); });
  CHECK(y.difference() <= tolerance<Real>(1, size));
  pair.run_written_and_added([&](bool adds) {
    const auto da = pair.random(count, 5), db = pair.random(count, 6), dx = pair.random(count, 7);
    pair.run([&](Device<Real>& d, int k) {
      d.multiply_backward(count, a.on(k), b.on(k), dy.on(k), {da.on(k), adds}, {db.on(k), adds});
      d.scaled_backward(count, 0.7, dy.on(k), {dx.on(k), adds});
    });
    CHECK(da.difference() <= tolerance<Real>(1, size));
    CHECK(db.difference() <= tolerance<Real>(1, size));
    CHECK(dx.difference() <= tolerance<Real>(1, size));
  });
  pair.run([&](Device<Real>& d, int k) { d.fill(count, Real(0.7), y.on(k)); });
  CHECK(y.difference() == 0.0);
  pair.run([&](Device<Real>& d, int k) {
    d.zero(y.on(k), static_cast<std::size_t>(count) * sizeof(Real));
  });
  CHECK(largest(y.read(1)) == 0.0);
}

TEST_CASE_TEMPLATE("cuda: norms of rows", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const bool centred : {true, false}) {
    for (const std::int64_t width : {1, 3, 64, 300, 5000}) {
      CAPTURE(centred);
      CAPTURE(width);
      const NormShape s{7, width, centred, 1e-5};
      const std::int64_t count = s.tokens * width;
      const auto x = pair.random(count, 1), f = pair.random(count, 2), dy = pair.random(count, 3);
      const auto y = pair.random(count, 4), inverse = pair.random(s.tokens, 5);
      // A row of one entry has variance 0, and 1/sqrt(eps) carries the error of its mean.
      const double rounding = static_cast<double>(width) * Pair<Real>::eps * 8.0;
      const double most = 1.0 / std::sqrt(s.eps);
      pair.run([&](Device<Real>& d, int k) { d.norm_forward(s, x.on(k), y.on(k), inverse.on(k)); });
      CHECK(y.difference() <= rounding * (width < 4 ? most : 4.0));
      CHECK(inverse.difference() <= rounding * (width < 4 ? most : 4.0));
      pair.run([&](Device<Real>& d, int k) {
        d.blend_norm_forward(s, 1.5, x.on(k), 0.5, f.on(k), y.on(k), inverse.on(k));
      });
      CHECK(y.difference() <= rounding * (width < 4 ? most : 4.0));
      const double slope = largest(inverse.read(0)) * largest(dy.read(0)) *
                           (1.0 + largest(y.read(0)) * largest(y.read(0)));
      const double allowed = rounding * (width < 4 ? most : 4.0) * slope + rounding;
      pair.run_written_and_added([&](bool adds) {
        const auto dx = pair.random(count, 6), df = pair.random(count, 7);
        pair.run([&](Device<Real>& d, int k) {
          d.norm_backward(s, y.on(k), inverse.on(k), dy.on(k), {dx.on(k), adds});
        });
        CHECK(dx.difference() <= allowed);
        pair.run([&](Device<Real>& d, int k) {
          d.blend_norm_backward(s, y.on(k), inverse.on(k), dy.on(k), 1.5, {dx.on(k), adds}, 0.5,
                                {df.on(k), adds});
        });
        CHECK(dx.difference() <= 3.0 * allowed);
        CHECK(df.difference() <= 3.0 * allowed);
      });
    }
  }
}

TEST_CASE_TEMPLATE("cuda: a constant row under eps = 0 becomes 0", Real, float, double) {
  if (!cuda_is_there()) return;
  const auto device = make_device<Real>("cuda", 1);
  for (const std::int64_t width : {1, 7, 333, 4999}) {
    const Pair<Real> pair;
    const auto x = pair.array(std::vector<Real>(static_cast<std::size_t>(width), Real(0.1)));
    const auto y = pair.random(width, 1), inverse = pair.random(1, 2);
    for (const int k : {0, 1}) {
      CAPTURE(k);
      Device<Real>& d = *pair.devices[k];
      d.norm_forward({1, width, true, 0.0}, x.on(k), y.on(k), inverse.on(k));
      CHECK(largest(y.read(k)) == 0.0);
      CHECK(largest(inverse.read(k)) == 0.0);
      d.column_norm_forward({1, width, 1, true, 0.0}, x.on(k), y.on(k), inverse.on(k));
      CHECK(largest(y.read(k)) == 0.0);
    }
  }
}

TEST_CASE_TEMPLATE("cuda: norms of columns", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const bool centred : {true, false}) {
    const ColumnNormShape s{3, 19, 45, centred, 1e-3};
    const std::int64_t count = s.groups * s.rows * s.width;
    const auto x = pair.random(count, 1), dy = pair.random(count, 2), y = pair.random(count, 3);
    const auto inverse = pair.random(s.groups * s.width, 4);
    pair.run(
        [&](Device<Real>& d, int k) { d.column_norm_forward(s, x.on(k), y.on(k), inverse.on(k)); });
    // Sums are in double on both; only the results are rounded.
    const double size = 2.0 * largest(y.read(0)) + largest(inverse.read(0));
    CHECK(y.difference() <= 64.0 * Pair<Real>::eps * size);
    CHECK(inverse.difference() <= 64.0 * Pair<Real>::eps * size);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(count, 5);
      pair.run([&](Device<Real>& d, int k) {
        d.column_norm_backward(s, y.on(k), inverse.on(k), dy.on(k), {dx.on(k), adds});
      });
      CHECK(dx.difference() <= 64.0 * Pair<Real>::eps * size * size * size * largest(dy.read(0)));
    });
  }
}

}  // namespace scalecalc::tensor
