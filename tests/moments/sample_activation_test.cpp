#include "moments/sample_activation.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support.hpp"

namespace scalecalc {
namespace {

using testing::site;

constexpr int width = 25;

Trace behind_norm(const std::string& norm, const std::string& activation, double cross) {
  return testing::trace_of_model(
      fmt::format("model = {{kind=\"layers\", features={0}, classes=3, sequence=9}}\n"
                  "input = {{second=1, cross={1}}}\n"
                  "[[layer]]\ntype=\"linear\"\nwidth={0}\n"
                  "[[layer]]\ntype=\"norm\"\nnorm=\"{2}\"\n"
                  "[[layer]]\ntype=\"activation\"\nactivation=\"{3}\"\n",
                  width, cross, norm, activation));
}

double apart(const Site& at) {
  return at.second.value - at.cross.value;
}

// An activation of slope 1 and less puts no two tokens further apart than they were, whatever their
// sizes are. Of sizes that vary by 2/n the square of that is left out.
TEST_CASE("tokens that are nearly one stay so behind a norm and an activation") {
  constexpr double left_out = 4.0 / (width * width);
  for (const char* norm : {"rmsnorm", "layernorm", "scalenorm"})
    for (const char* activation : {"tanh", "softsign", "sigmoid", "relu", "softshrink"})
      for (const double cross : {0.3, 0.9, 0.99, 0.9999}) {
        CAPTURE(norm);
        CAPTURE(activation);
        CAPTURE(cross);
        const Trace trace = behind_norm(norm, activation, cross);
        const Site &in = site(trace, "norm[0]"), &out = site(trace, "activation[0]");
        CHECK(apart(out) >= -left_out * out.second.value);
        CHECK(apart(out) <= apart(in) + left_out * out.second.value);
      }
}

}  // namespace
}  // namespace scalecalc
