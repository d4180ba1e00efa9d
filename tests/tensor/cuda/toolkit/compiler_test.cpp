#include "tensor/cuda/compiler.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "activation/source.hpp"
#include "scalecalc/error.hpp"
#include "tensor/cuda/point_source.hpp"

/// NVRTC compiles without a device; only running takes one.
namespace scalecalc::tensor::cuda {
namespace {

std::unique_ptr<const Compiler> find_compiler() {
  try {
    return std::make_unique<const Compiler>();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
    MESSAGE("skipped: " << error.what());
    return nullptr;
  }
}

}  // namespace

TEST_CASE("cuda: NVRTC compiles every activation of the registry") {
  const auto compiler = find_compiler();
  if (compiler == nullptr) return;
  for (const ActivationInfo& info : activations()) {
    CAPTURE(info.name);
    const std::string code =
        compiler->compile(point_source(Activation::named(info.name), &c_source), 90);
    for (const char* kernel :
         {"forward_float", "backward_float", "forward_double", "backward_double"}) {
      CHECK(code.find(kernel) != std::string::npos);
    }
  }
}

TEST_CASE("cuda: a device newer than NVRTC gets PTX, a wrong source an error with the reason") {
  const auto compiler = find_compiler();
  if (compiler == nullptr) return;
  const std::string source =
      point_source(Activation::from_expression("x*exp(-x^2) + sin(x)/x"), &c_source);
  CHECK(compiler->compile(source, 999).find(".target sm_") != std::string::npos);
  try {
    compiler->compile("__global__ void broken( {", 90);
    FAIL("compiled");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
    CHECK(std::string(error.what()).find("error") != std::string::npos);
  }
  CHECK_THROWS_AS(compiler->compile(source, 10), Error);
}

}  // namespace scalecalc::tensor::cuda
