#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

struct Case {
  std::int64_t tokens, fan_in, fan_out;
};

OperationRun with_bias(const Case& c, int threads = 1) {
  return {[](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return linear(tape, in[0], in[1], &in[2]);
          },
          {random_input(c.tokens, c.fan_in, 1), random_input(c.fan_in, c.fan_out, 2),
           random_input(1, c.fan_out, 3)},
          threads};
}

}  // namespace

TEST_CASE("linear: backward against central differences") {
  for (const Case& c : {Case{1, 1, 1}, Case{3, 5, 7}, Case{1, 17, 2}, Case{24, 2, 9}}) {
    CAPTURE(c.tokens);
    CHECK(with_bias(c).worst_gradient_error() < 1e-9);
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

TEST_CASE("linear: the number of threads does not change a bit") {
  const Case c{300, 280, 600};
  const Vector dy = normal_values(300 * 600, 4);
  const OperationRun one = with_bias(c, 1), two = with_bias(c, 2), three = with_bias(c, 3);
  CHECK(one.value() == two.value());
  CHECK(one.gradients(dy) == two.gradients(dy));
  CHECK(one.gradients(dy) == three.gradients(dy));
}

}  // namespace scalecalc::tensor
