#include <doctest/doctest.h>

#include "support.hpp"
#include "tensor/ops.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

OperationRun activation_run(ActivationKind kind, Input input, int threads = 1) {
  return {[kind](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return activate(tape, kind, in[0]);
          },
          {std::move(input)},
          threads};
}

const ActivationKind kAll[] = {ActivationKind::identity, ActivationKind::relu,
                               ActivationKind::gelu,     ActivationKind::tanh,
                               ActivationKind::sigmoid,  ActivationKind::selu};

}  // namespace

TEST_CASE("activations: backward against central differences") {
  for (const ActivationKind kind : kAll) {
    CAPTURE(static_cast<int>(kind));
    for (const std::int64_t rows : {1, 5}) {
      Input input = random_input(rows, 13, 7);
      // A difference must not reach across the kink at 0.
      for (double& x : input.values) x += x >= 0.0 ? 0.01 : -0.01;
      CHECK(activation_run(kind, input).worst_gradient_error() < kDifferences);
    }
  }
}

TEST_CASE("blend: both branches, and a stream used twice") {
  const OperationRun run(
      [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        const Variable<double> f = activate(tape, ActivationKind::tanh, in[0]);
        return blend(tape, 1.7, in[0], -0.4, blend(tape, 1.0, f, 2.0, in[1]));
      },
      {random_input(3, 5, 1), random_input(3, 5, 2)});
  CHECK(run.worst_gradient_error() < kDifferences);
  const Vector x = random_input(3, 5, 1).values, z = random_input(3, 5, 2).values, y = run.value();
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(y[i] == rounded(1.7 * x[i] - 0.4 * (std::tanh(x[i]) + 2.0 * z[i]), 64));
  }
}

TEST_CASE("blend: a weight that is a variable, used in two places") {
  const OperationRun run(
      [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        const Variable<double> once = blend(tape, 1.7, in[0], in[2], in[1]);
        return blend(tape, 1.0, once, in[2], activate(tape, ActivationKind::tanh, once));
      },
      {random_input(3, 5, 1), random_input(3, 5, 2), {1, 1, {0.6}}});
  CHECK(run.worst_gradient_error() < kDifferences);
}

TEST_CASE("multiply and scale: backward, and a square") {
  const OperationRun run(
      [](Tape<double>& tape, const std::vector<Variable<double>>& in) {
        const Variable<double> square = multiply(tape, in[0], in[0]);
        return multiply(tape, scale(tape, -2.5, in[1]), square);
      },
      {random_input(3, 5, 1), random_input(3, 5, 2)});
  CHECK(run.worst_gradient_error() < kDifferences);
  const Vector a = random_input(3, 5, 1).values, b = random_input(3, 5, 2).values, y = run.value();
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(y[i] == rounded(-2.5 * a[i] * a[i] * b[i], 64));
  }
}

TEST_CASE("elementwise: the number of threads does not change a bit") {
  const Input input = random_input(300, 201, 3);
  const Vector dy = normal_values(300 * 201, 4);
  for (const ActivationKind kind : kAll) {
    CHECK(activation_run(kind, input, 1).gradients(dy) ==
          activation_run(kind, input, 2).gradients(dy));
  }
}

}  // namespace scalecalc::tensor
