#include <doctest/doctest.h>

#include <limits>

#include "passes/model.hpp"
#include "passes/optimizer.hpp"
#include "passes/support.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc::passes {
namespace {

using Application = OptimizerOptions::Application;

/// A small transformer with biases, gains, an embedding and a head.
Network network(std::int64_t blocks = 1) {
  NetworkOptions options;
  options.blocks = blocks;
  options.reduction = Reduction::mean;
  options.tokens = options.bias = options.affine = true;
  Network built = HandBuilt(options).transformer();
  std::get<Linear>(built.layers.back().op).role = "head";
  return built;
}

template <class Real>
std::vector<Vector> parameters_of(const Passes<Real>& passes) {
  std::vector<Vector> all;
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    const MatrixView<Real> view = passes.parameter(i);
    all.emplace_back(view.data, view.data + view.size());
  }
  return all;
}

/// Parameters after three steps.
template <class Real>
std::vector<Vector> trained(const OptimizerOptions& options, int threads = 1) {
  Passes<Real> passes(network(), {5, threads, "cpu"});
  Trainer<Real> trainer(passes, options);
  for (int t = 0; t < 3; ++t) trainer.step();
  return parameters_of(passes);
}

void check_wrong(const OptimizerOptions& options, const std::string& message,
                 const std::string& where = "optimizer") {
  try {
    Passes<double> passes(network(), {});
    Trainer<double> trainer(passes, options);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == message);
    CHECK(error.where() == where);
    CHECK_FALSE(error.hint().empty());
  }
}

template <class Value>
void check_wrong(Value OptimizerOptions::*member, Value value, const std::string& message) {
  OptimizerOptions options;
  options.*member = value;
  check_wrong(options, message);
}

}  // namespace

TEST_CASE("trainer: a parameter whose rate has a factor of 0 stays as it is") {
  std::vector<std::string> names = optimizer_names();
  names.insert(names.end(), {"muon+adamw", "muon(embedding,head)+sgd"});
  const std::vector<Vector> before = parameters_of(Passes<double>(network(), {5, 1, "cpu"}));
  const std::vector<ParameterInfo> infos = scalecalc::parameters(network());
  for (const std::string& name : names) {
    CAPTURE(name);
    OptimizerOptions options = optimizer_options(name);
    for (const ParameterInfo& info : infos)
      if (info.path != "head.weight") options.factors[info.path].learning_rate = 0;
    const std::vector<Vector> after = trained<double>(options);
    for (std::size_t i = 0; i < infos.size(); ++i) {
      CAPTURE(infos[i].path);
      CHECK((after[i] == before[i]) == (infos[i].path != "head.weight"));
    }
  }
}

TEST_CASE("trainer: factors of a path that is no parameter's are refused") {
  OptimizerOptions options;
  options.factors["head.wieght"].learning_rate = 2;
  check_wrong(options, "unknown parameter 'head.wieght'", "factors");
}

TEST_CASE("trainer: every optimizer lowers the loss") {
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    Passes<double> passes(network(), {});
    Passes<float> single(network(), {});
    Trainer<double> trainer(passes, optimizer_options(name));
    Trainer<float> of_single(single, optimizer_options(name));
    const double before = passes.loss();
    CHECK(trainer.step() == before);
    of_single.step();
    for (int t = 1; t < 10; ++t) {
      trainer.step();
      of_single.step();
    }
    CHECK(trainer.steps() == 10);
    CHECK(passes.loss() < before);
    CHECK(single.loss() < before);
  }
}

TEST_CASE("trainer: a step of sgd is theta - eta g") {
  Passes<double> passes(network(), {});
  const std::vector<Vector> before = parameters_of(passes);
  std::vector<Vector> expected = before;
  passes.backward([&](std::size_t index, MatrixView<double> g) {
    for (std::size_t j = 0; j < expected[index].size(); ++j) expected[index][j] -= 0.25 * g.data[j];
  });
  OptimizerOptions options = optimizer_options("sgd");
  options.learning_rate = 0.25;
  Trainer<double>(passes, options).step();
  // A power of two: only the subtraction rounds.
  CHECK(parameters_of(passes) == expected);
}

TEST_CASE("trainer: streaming and whole updates give the same bits") {
  for (const std::string& name : optimizer_names()) {
    if (name == "ngd") continue;
    CAPTURE(name);
    OptimizerOptions options = optimizer_options(name);
    options.clip_value = 0.01;
    options.application = Application::streaming;
    const std::vector<Vector> streamed = trained<float>(options);
    options.application = Application::whole;
    CHECK(trained<float>(options) == streamed);
    CHECK(trained<float>(options, 2) == streamed);
  }
}

TEST_CASE("trainer: gradients are kept only where their common norm is needed") {
  const auto streams = [](OptimizerOptions options) {
    Passes<double> passes(network(), {});
    return Trainer<double>(passes, options).streaming();
  };
  OptimizerOptions options = optimizer_options("adam");
  CHECK(streams(options));
  options.clip_value = 1.0;
  CHECK(streams(options));
  options.clip_value = 0.0;
  options.clip_norm = 1.0;
  CHECK_FALSE(streams(options));
  CHECK_FALSE(streams(optimizer_options("ngd")));
  options = optimizer_options("sgd");
  options.application = Application::whole;
  CHECK_FALSE(streams(options));
}

TEST_CASE("trainer: the norm that clips is that of the whole gradient") {
  Passes<double> passes(network(), {});
  double square = 0.0;
  passes.backward([&](std::size_t, MatrixView<double> g) {
    for (std::int64_t i = 0; i < g.size(); ++i) square += g.data[i] * g.data[i];
  });
  const auto moved = [](const OptimizerOptions& options) {
    Passes<double> fresh(network(), {});
    const std::vector<Vector> before = parameters_of(fresh);
    Trainer<double>(fresh, options).step();
    const std::vector<Vector> after = parameters_of(fresh);
    double sum = 0.0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      sum += distance(before[i], after[i]) * distance(before[i], after[i]);
    }
    return std::sqrt(sum);
  };
  // theta - before cancels: eps |theta| per entry, against steps of size 1/2 together.
  const double tolerance = 100.0 * std::numeric_limits<double>::epsilon() *
                           static_cast<double>(passes.parameters().size());
  OptimizerOptions options = optimizer_options("sgd");
  options.learning_rate = 1.0;
  options.clip_norm = 0.5 * std::sqrt(square);
  CHECK(moved(options) == doctest::Approx(options.clip_norm).epsilon(tolerance));
  options = optimizer_options("ngd");
  options.learning_rate = 0.5;
  CHECK(moved(options) == doctest::Approx(0.5).epsilon(tolerance));
}

TEST_CASE("trainer: sgd by streaming takes no more memory than the passes") {
  const auto plan = std::make_shared<const Plan>(network(12));
  const auto device = tensor::make_device<float>("cpu", 1);
  Model<float> model(plan, 0, device);
  model.backward([](std::size_t, const tensor::Tensor<float>&) {});
  const std::size_t held = device->bytes_held();
  Optimizer<float> optimizer(device, model.parameters(), optimizer_options("sgd"));
  for (int t = 0; t < 3; ++t) {
    optimizer.begin();
    model.backward([&](std::size_t index, const tensor::Tensor<float>& gradient) {
      optimizer.apply(index, model.parameter(index), gradient, 0.0);
    });
  }
  CHECK(device->bytes_held() == held);
}

TEST_CASE("trainer: it follows passes that move, and moves itself") {
  Passes<double> passes(network(), {}), plain(network(), {});
  Trainer<double> trainer(passes, optimizer_options("adam"));
  Trainer<double> expected(plain, optimizer_options("adam"));
  trainer.step();
  Passes<double> elsewhere = std::move(passes);
  Trainer<double> continued = std::move(trainer);
  continued.step();
  expected.step();
  expected.step();
  CHECK(parameters_of(elsewhere) == parameters_of(plain));
}

TEST_CASE("trainer: the state of one goes on in another, bit for bit") {
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    Passes<float> passes(network(), {}), elsewhere(network(), {});
    Trainer<float> trainer(passes, optimizer_options(name));
    for (int t = 0; t < 3; ++t) trainer.step();
    Trainer<float> other(elsewhere, optimizer_options(name));
    REQUIRE(other.state().size() == trainer.state().size());
    for (std::size_t i = 0; i < trainer.state().size(); ++i) {
      const MatrixView<float> view = trainer.state(i);
      CHECK(other.state()[i].name == trainer.state()[i].name);
      CHECK(view.size() == trainer.state()[i].rows * trainer.state()[i].columns);
      other.set_state(i, std::vector<float>(view.data, view.data + view.size()).data());
    }
    other.set_steps(trainer.steps());
    for (int t = 0; t < 3; ++t) CHECK(other.step() == trainer.step());
    CHECK(other.steps() == 6);
    CHECK(parameters_of(elsewhere) == parameters_of(passes));
  }
  Passes<float> passes(network(), {});
  Trainer<float> trainer(passes, {});
  CHECK_THROWS_AS(trainer.set_steps(-1), Error);
  CHECK_THROWS_AS(trainer.state(100000), Error);
}

TEST_CASE("trainer: a measured step is the same step") {
  for (const Application application : {Application::streaming, Application::whole}) {
    OptimizerOptions options = optimizer_options("sgd");
    options.learning_rate = 0.25;
    options.application = application;
    Passes<double> passes(network(), {}), plain(network(), {});
    const std::vector<Vector> before = parameters_of(passes);
    StepNorms norms;
    const double loss = Trainer<double>(passes, options).step(norms);
    CHECK(loss == Trainer<double>(plain, options).step());
    const std::vector<Vector> after = parameters_of(passes);
    CHECK(after == parameters_of(plain));
    for (std::size_t i = 0; i < before.size(); ++i) {
      // Sums of n squares, each rounded once.
      const double epsilon =
          static_cast<double>(before[i].size()) * std::numeric_limits<double>::epsilon();
      CHECK(norms.parameter[i] ==
            doctest::Approx(std::sqrt(dot(before[i], before[i]))).epsilon(epsilon));
      CHECK(norms.update[i] == doctest::Approx(distance(before[i], after[i])).epsilon(epsilon));
      // theta - eta g rounds by epsilon |theta|.
      CHECK(std::fabs(norms.update[i] - 0.25 * norms.gradient[i]) <=
            std::numeric_limits<double>::epsilon() * (norms.parameter[i] + norms.update[i]));
    }
  }
}

TEST_CASE("trainer: the measured gradient is the one before clipping") {
  Passes<double> passes(network(), {}), clipped(network(), {});
  OptimizerOptions options = optimizer_options("sgd");
  StepNorms plain, of_clipped;
  Trainer<double>(passes, options).step(plain);
  options.clip_norm = 1e-3;
  Trainer<double>(clipped, options).step(of_clipped);
  CHECK(of_clipped.gradient == plain.gradient);
  CHECK(of_clipped.update != plain.update);
}

TEST_CASE("trainer: a rate of zero moves nothing") {
  Passes<double> passes(network(), {});
  const std::vector<Vector> before = parameters_of(passes);
  OptimizerOptions options = optimizer_options("adamw");
  options.learning_rate = 0.0;
  Trainer<double>(passes, options).step();
  CHECK(parameters_of(passes) == before);
}

TEST_CASE("trainer: options that cannot be are errors that name them") {
  using O = OptimizerOptions;
  check_wrong(&O::learning_rate, -0.5, "learning_rate is -0.5");
  check_wrong(&O::learning_rate, std::nan(""), "learning_rate is nan");
  check_wrong(&O::learning_rate, HUGE_VAL, "learning_rate is inf");
  check_wrong(&O::adamw_learning_rate, -1.0, "adamw_learning_rate is -1");
  check_wrong(&O::weight_decay, -0.1, "weight_decay is -0.1");
  check_wrong(&O::momentum, 1.0, "momentum is 1");
  check_wrong(&O::beta1, 1.0, "beta1 is 1");
  check_wrong(&O::beta1, -0.1, "beta1 is -0.1");
  check_wrong(&O::beta2, 1.0, "beta2 is 1");
  check_wrong(&O::eps, 0.0, "eps is 0");
  check_wrong(&O::trust, 0.0, "trust is 0");
  check_wrong(&O::decay_power, 0.0, "decay_power is 0");
  check_wrong(&O::clip_rms, 0.0, "clip_rms is 0");
  check_wrong(&O::eps_square, 0.0, "eps_square is 0");
  check_wrong(&O::eps_parameter, -1.0, "eps_parameter is -1");
  check_wrong(&O::clip_norm, -1.0, "clip_norm is -1");
  check_wrong(&O::clip_value, -1.0, "clip_value is -1");
  check_wrong(&O::newton_schulz_steps, 0, "newton_schulz_steps is 0");
}

TEST_CASE("trainer: options that do not fit together are errors") {
  OptimizerOptions options;
  options.clip_norm = options.clip_value = 1.0;
  check_wrong(options, "both clip_norm and clip_value are set");
  options.clip_value = 0.0;
  options.application = Application::streaming;
  check_wrong(options,
              "streaming updates cannot know the norm of all gradients, which clip_norm needs");
  options = optimizer_options("ngd");
  options.application = Application::streaming;
  check_wrong(options, "streaming updates cannot know the norm of all gradients, which ngd needs");
  options = {};
  options.schedule.warmup = -2;
  check_wrong(options, "warmup is -2", "schedule");
}

TEST_CASE("trainer: unknown names come with the nearest") {
  try {
    optimizer_options("adm");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.message() == "unknown optimizer 'adm'");
    CHECK(error.hint().find("did you mean 'adam'") == 0);
  }
  OptimizerOptions options;
  options.name = "shampoo";
  check_wrong(options, "unknown optimizer 'shampoo'");
}

}  // namespace scalecalc::passes
