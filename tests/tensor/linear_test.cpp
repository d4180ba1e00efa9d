#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

struct Case {
  std::int64_t tokens, fan_in, fan_out;
};

OperationRun with_bias(const Case& c) {
  return {[](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return linear(tape, in[0], in[1], &in[2]);
          },
          {random_input(c.tokens, c.fan_in, 1), random_input(c.fan_in, c.fan_out, 2),
           random_input(1, c.fan_out, 3)}};
}

template <class Real>
std::vector<Real> some(std::int64_t count, std::uint64_t seed) {
  const Vector drawn = normal_values(static_cast<std::size_t>(count), seed);
  return {drawn.begin(), drawn.end()};
}

/// Of the same operands for one case; dw is added to what is there.
template <class Real>
struct Products {
  Products(const std::string& on, const Case& c, int threads)
      : y(static_cast<std::size_t>(c.tokens * c.fan_out)),
        dx(static_cast<std::size_t>(c.tokens * c.fan_in)),
        activated(y.size()),
        dw(some<Real>(c.fan_in * c.fan_out, 5)),
        db(static_cast<std::size_t>(c.fan_out)) {
    const std::shared_ptr<Device<Real>> device = make_device<Real>(on, threads);
    const LinearShape shape{c.tokens, c.fan_in, c.fan_out};
    const auto x = some<Real>(c.tokens * c.fan_in, 1), w = some<Real>(c.fan_in * c.fan_out, 2);
    const auto b = some<Real>(c.fan_out, 3), dy = some<Real>(c.tokens * c.fan_out, 4);
    std::vector<Real> before(y.size());
    device->linear_forward(shape, x.data(), w.data(), b.data(), y.data());
    device->linear_activation_forward(shape, x.data(), w.data(), b.data(), ActivationKind::gelu,
                                      before.data(), activated.data());
    CHECK(before == y);
    device->linear_backward_input(shape, dy.data(), w.data(), {dx.data(), false});
    device->linear_backward_weight(shape, x.data(), dy.data(), {dw.data(), true});
    device->bias_backward(c.tokens, c.fan_out, dy.data(), {db.data(), false});
  }
  std::vector<Real> y, dx, activated, dw, db;
};

}  // namespace

TEST_CASE("linear: backward against central differences") {
  for (const Case& c : {Case{1, 1, 1}, Case{3, 5, 7}, Case{1, 17, 2}, Case{24, 2, 9}}) {
    CAPTURE(c.tokens);
    CHECK(with_bias(c).worst_gradient_error() < kDifferences);
  }
}

TEST_CASE("linear: against sums written out, sizes around the tiles") {
  for (const Case& c : {Case{2, 3, 4}, Case{257, 3, 5}, Case{3, 300, 2}, Case{5, 7, 513}}) {
    const Vector x = normal_values(static_cast<std::size_t>(c.tokens * c.fan_in), 1);
    const Vector w = normal_values(static_cast<std::size_t>(c.fan_in * c.fan_out), 2);
    const Vector b = normal_values(static_cast<std::size_t>(c.fan_out), 3);
    const Vector dy = normal_values(static_cast<std::size_t>(c.tokens * c.fan_out), 4);
    Vector y(dy.size(), 0.0), dx(x.size(), 0.0), dw(w.size(), 0.0), db(b.size(), 0.0);
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      for (std::int64_t o = 0; o < c.fan_out; ++o) {
        const auto at = static_cast<std::size_t>(t * c.fan_out + o);
        y[at] = b[static_cast<std::size_t>(o)];
        db[static_cast<std::size_t>(o)] += dy[at];
        for (std::int64_t i = 0; i < c.fan_in; ++i) {
          const auto xi = static_cast<std::size_t>(t * c.fan_in + i);
          const auto wi = static_cast<std::size_t>(i * c.fan_out + o);
          y[at] += x[xi] * w[wi];
          dx[xi] += dy[at] * w[wi];
          dw[wi] += x[xi] * dy[at];
        }
      }
    }
    // Both sum the same at most 513 products in another order.
    const double eps = 513.0 * std::numeric_limits<double>::epsilon();
    const OperationRun run = with_bias(c);
    const std::vector<Vector> gradients = run.gradients(dy);
    CHECK(distance(run.value(), y) < eps * norm(y));
    CHECK(distance(gradients[0], dx) < eps * norm(dx));
    CHECK(distance(gradients[1], dw) < eps * norm(dw));
    CHECK(distance(gradients[2], db) < eps * norm(db));
  }
}

TEST_CASE_TEMPLATE("linear: the number of threads does not change a bit", Real, float, double) {
  // Around the tiles, with a last row or column alone, and what oneDNN and Eigen are faster at.
  for (const Case& c :
       {Case{300, 280, 600}, Case{1025, 513, 48}, Case{1, 600, 700}, Case{33, 1000, 513},
        Case{130, 64, 256}, Case{705, 353, 97}, Case{24, 768, 1537}, Case{1025, 512, 513}}) {
    for (const char* on : {"cpu", "cpu+eigen"}) {
      CAPTURE(c.tokens);
      CAPTURE(on);
      const Products<Real> one(on, c, 1);
      for (const int threads : {2, 3, 4, 7, 16}) {
        CAPTURE(threads);
        const Products<Real> shared(on, c, threads);
        CHECK(one.y == shared.y);
        CHECK(one.dx == shared.dx);
        CHECK(one.dw == shared.dw);
        CHECK(one.db == shared.db);
        CHECK(one.activated == shared.activated);
      }
    }
  }
}

}  // namespace scalecalc::tensor
