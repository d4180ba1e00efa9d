#include "tensor/functions.hpp"

#include <doctest/doctest.h>

#include "scalecalc/error.hpp"
#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {
namespace {

template <class Real>
std::vector<Real> values_of(const std::string& function, const Vector& x, int threads = 1) {
  const auto device = make_device<Real>("cpu", threads);
  Tape<Real> tape(device, false);
  const auto size = static_cast<std::int64_t>(x.size());
  const Tensor<Real> in = upload(device, 1, size, x);
  const auto y = activate(tape, find_function(function, "test"), tape.constant(in));
  return {y.value.data(), y.value.data() + size};
}

std::string message(const std::string& function) {
  try {
    find_function(function, "block[0].ffn.act");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("functions: a kernel where there is one, under every name, else the expression") {
  CHECK(native_kind("selu") == ActivationKind::selu);
  CHECK_FALSE(native_kind("softplus"));
  CHECK(find_function("gelu", "test").kind == ActivationKind::gelu);
  CHECK_FALSE(find_function("gelu", "test").expression);
  CHECK(find_function("softplus", "test").expression->name() == "softplus");
  CHECK(find_function("x^2", "test").expression);
  for (const ActivationInfo& info : activations()) {
    for (const std::string& alias : info.aliases) {
      const PointFunction a = find_function(alias, "test"), b = find_function(info.name, "test");
      CHECK(a.kind == b.kind);
      CHECK(a.expression.has_value() == b.expression.has_value());
    }
  }
}

TEST_CASE("functions: what cannot be used is explained, with its place") {
  for (const char* function : {"gelo", "", "1/x", "x+", "y*x", "2"}) {
    CAPTURE(function);
    const std::string text = message(function);
    CAPTURE(text);
    CHECK((text.find("block[0].ffn.act") != std::string::npos || text == "accepted"));
  }
  CHECK(message("gelo").find("gelu") != std::string::npos);
  CHECK(message("1/x") != "accepted");
}

TEST_CASE("functions: every registered one runs, as the symbolic room evaluates it") {
  const Vector x = normal_values(1500, 3, 2.0);
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    if (native_kind(info.name)) continue;
    const Activation phi = Activation::named(info.name);
    const std::vector<double> y = values_of<double>(info.name, x);
    const std::vector<float> rounded = values_of<float>(info.name, x);
    for (std::size_t i = 0; i < x.size(); i += 37) {
      CHECK(y[i] == phi.value(x[i]));
      CHECK(rounded[i] == static_cast<float>(phi.value(static_cast<float>(x[i]))));
    }
  }
}

TEST_CASE("functions: backward against central differences, and for any number of threads") {
  for (const char* function : {"silu", "mish", "sin(x)*exp(-x^2/2)"}) {
    const PointFunction phi = find_function(function, "test");
    const auto run = [&](std::int64_t rows, int threads) {
      return OperationRun(
          [&](Tape<double>& tape, const std::vector<Variable<double>>& in) {
            return activate(tape, phi, in[0]);
          },
          {random_input(rows, 13, 7)}, threads);
    };
    CHECK(run(5, 1).worst_gradient_error() < kDifferences);
    const Vector dy = normal_values(3000 * 13, 4);
    CHECK(run(3000, 1).gradients(dy) == run(3000, 2).gradients(dy));
    CHECK(run(3000, 1).value() == run(3000, 2).value());
  }
}

}  // namespace scalecalc::tensor
