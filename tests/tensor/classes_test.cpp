#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

Tensor<std::int32_t> column(const std::shared_ptr<Device<double>>& device,
                            const std::vector<std::int32_t>& values) {
  Tensor<std::int32_t> tensor(device, static_cast<std::int64_t>(values.size()), 1);
  device->upload(values.data(), tensor.data(), tensor.bytes());
  return tensor;
}

struct Loss {
  double value;
  Vector gradient;
};

Loss loss_of(const Vector& logits, const std::vector<std::int32_t>& targets, Reduction reduction) {
  const auto device = make_device<double>("cpu", 1);
  const auto tokens = static_cast<std::int64_t>(targets.size());
  const auto classes = static_cast<std::int64_t>(logits.size()) / tokens;
  Tape<double> tape(device, true);
  const auto x = tape.parameter(0, upload(device, tokens, classes, logits));
  Loss loss;
  loss.value = cross_entropy(tape, x, column(device, targets), reduction);
  tape.backward([&](std::size_t, const Tensor<double>& g) { loss.gradient = download(g); });
  return loss;
}

}  // namespace

TEST_CASE("cross-entropy: backward against central differences and p - onehot") {
  const std::vector<std::int32_t> targets = {3, 0, 6};
  Vector logits = normal_values(21, 1, 2.0);
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    const double scale = reduction == Reduction::sum ? 1.0 : 1.0 / 3.0;
    const Loss loss = loss_of(logits, targets, reduction);
    double expected_loss = 0.0;
    for (std::size_t t = 0; t < 3; ++t) {
      long double sum = 0.0L;
      for (std::size_t c = 0; c < 7; ++c)
        sum += std::exp(static_cast<long double>(logits[7 * t + c]));
      expected_loss +=
          scale *
          static_cast<double>(std::log(sum) - logits[7 * t + static_cast<std::size_t>(targets[t])]);
      for (std::size_t c = 0; c < 7; ++c) {
        const double p =
            static_cast<double>(std::exp(static_cast<long double>(logits[7 * t + c])) / sum);
        const double hit = c == static_cast<std::size_t>(targets[t]) ? 1.0 : 0.0;
        // Seven exponentials of an ulp or two each.
        CHECK(std::fabs(loss.gradient[7 * t + c] - scale * (p - hit)) < 4e-15);
        double& x = logits[7 * t + c];
        const double at = x, h = 1e-3;
        const auto f = [&](double step) {
          x = at + step;
          return loss_of(logits, targets, reduction).value;
        };
        const double slope = (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h);
        x = at;
        // h^4 = 1e-12 of a fifth derivative, and eps/h of a loss of order 10.
        CHECK(std::fabs(slope - loss.gradient[7 * t + c]) < 1e-8 * std::fabs(slope) + 1e-11);
      }
    }
    CHECK(loss.value == rounded(expected_loss, 64));
  }
}

TEST_CASE("cross-entropy: extremes") {
  const Loss far = loss_of({1e4, -1e4, 0.0, 0.0}, {1, 0}, Reduction::sum);
  CHECK(far.value == doctest::Approx(2e4 + std::log(2.0)));
  CHECK(far.gradient[1] == -1.0);
  const Loss one_class = loss_of({5.0, -3.0}, {0, 0}, Reduction::sum);
  CHECK(one_class.value == 0.0);
  CHECK(one_class.gradient == Vector{0.0, 0.0});
  CHECK(std::isnan(loss_of({NAN, 0.0, 0.0}, {1}, Reduction::sum).value));
}

TEST_CASE("embedding: gathers rows and scatters gradients, repeated ids added") {
  const auto device = make_device<double>("cpu", 1);
  const std::vector<std::int32_t> ids = {2, 0, 2, 4, 2};
  for (const std::int64_t width : {1, 5, 130}) {
    const auto ids_on_device = column(device, ids);
    const OperationRun run(
        [&](Tape<double>& tape, const std::vector<Variable<double>>& in) {
          return embed(tape, in[0], ids_on_device);
        },
        {random_input(5, width, 1)});
    CHECK(run.worst_gradient_error() < kDifferences);
    const Vector table = random_input(5, width, 1).values, y = run.value();
    const auto w = static_cast<std::size_t>(width);
    const Vector dy = normal_values(5 * w, 2), dtable = run.gradients(dy)[0];
    for (std::size_t i = 0; i < w; ++i) {
      for (std::size_t t = 0; t < 5; ++t) {
        CHECK(y[t * w + i] == table[static_cast<std::size_t>(ids[t]) * w + i]);
      }
      CHECK(dtable[2 * w + i] == dy[i] + dy[2 * w + i] + dy[4 * w + i]);
      CHECK(dtable[w + i] == 0.0);
    }
  }
}

}  // namespace scalecalc::tensor
