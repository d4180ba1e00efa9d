#include <algorithm>

#include "compare.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::tensor {
namespace {

const char* const kTransformer = R"toml(
[model]
kind = "transformer"
layers = 2
width = 24
heads = 4
kv_heads = 2
ffn = 36
vocab = 11
sequence = 9
batch = 2
placement = "pre"
activation = "gelu"
causal = true
)toml";

const char* const kStack = R"toml(
[model]
kind = "mlp"
layers = 3
width = 40
classes = 7
sequence = 3
batch = 2
activation = "mish"
)toml";

const char* const kImages = R"toml(
[model]
kind = "layers"
layers = 2
features = 3
classes = 5
sequence = 30
height = 6
batch = 3
activation = "relu"
norm = "batchnorm"
norm_affine = true
norm_eps = 1e-5

[init]
scheme = "he"

[input]
second = 1
cross = 0.3

[[layer]]
type = "conv2d"
name = "stem"
channels = 4
kernel = 3
padding = 1
[[layer]]
type = "norm"
[[layer]]
type = "activation"
[[layer]]
type = "residual"
name = "down"
[[layer.layers]]
type = "conv2d"
channels = 8
kernel = 3
padding = 1
stride = 2
[[layer.layers]]
type = "norm"
[[layer.layers]]
type = "activation"
[[layer.layers]]
type = "conv2d"
channels = 8
kernel = 3
padding = 1
[[layer.layers]]
type = "norm"
[[layer.shortcut]]
type = "conv2d"
channels = 8
stride = 2
[[layer]]
type = "activation"
[[layer]]
type = "pool"
)toml";

template <class Real>
struct Run {
  double loss = 0.0;
  std::vector<std::vector<Real>> parameters, gradients;
};

template <class Real>
Run<Real> run(const Network& network, const std::string& device) {
  Passes<Real> passes(network, {3, 2, device});
  Run<Real> result;
  const std::size_t count = passes.parameters().size();
  result.gradients.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const MatrixView<Real> view = passes.parameter(i);
    result.parameters.emplace_back(view.data, view.data + view.size());
  }
  result.loss = passes.backward([&](std::size_t i, MatrixView<Real> gradient) {
    // Both are read at once, as rules of steps read them.
    const MatrixView<Real> parameter = passes.parameter(i);
    result.gradients[i].assign(gradient.data, gradient.data + gradient.size());
    CHECK(std::equal(parameter.data, parameter.data + parameter.size(),
                     result.parameters[i].begin()));
  });
  // A step, so that the parameters are written too.
  for (std::size_t i = 0; i < count; ++i) passes.add(i, result.gradients[i].data(), -1e-3);
  const double after = passes.loss();
  CHECK(after < result.loss);
  return result;
}

template <class Real>
void check(const Network& network) {
  const Run<Real> cpu = run<Real>(network, "cpu"), cuda = run<Real>(network, "cuda");
  CHECK(cpu.parameters == cuda.parameters);
  // A few dozen layers of sums of a few dozen terms, each of which may shift what follows.
  const double relative = 1e4 * Pair<Real>::eps;
  CHECK(std::fabs(cpu.loss - cuda.loss) <= relative * std::fabs(cpu.loss));
  for (std::size_t i = 0; i < cpu.gradients.size(); ++i) {
    double error = 0.0, size = 0.0;
    for (std::size_t j = 0; j < cpu.gradients[i].size(); ++j) {
      const double a = cpu.gradients[i][j], b = cuda.gradients[i][j];
      error += (a - b) * (a - b);
      size += a * a;
    }
    CAPTURE(i);
    // Beside a gradient that is 0, a thousandth of those of order 1.
    CHECK(std::sqrt(error) <= relative * std::sqrt(size) + relative * 1e-3);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("cuda: passes of a transformer", Real, float, double) {
  if (!cuda_is_there()) return;
  check<Real>(build_network(parse_model(kTransformer, "transformer")));
}

TEST_CASE_TEMPLATE("cuda: passes of a network of convolutions", Real, float, double) {
  if (!cuda_is_there()) return;
  check<Real>(build_network(parse_model(kImages, "images")));
}

TEST_CASE_TEMPLATE("cuda: passes of a stack with an activation of its own", Real, float, double) {
  if (!cuda_is_there()) return;
  check<Real>(build_network(parse_model(kStack, "stack")));
}

}  // namespace scalecalc::tensor
