#include <string>
#include <vector>

#include "scalecalc/moments.hpp"
#include "support.hpp"

/// Gated units whose inputs no norm has made one size: products of sizes, whose means are of few
/// tokens (docs/theory/layers.md#gated-sizes).
namespace scalecalc {
namespace {

ModelSpec narrow_list(int width, const std::string& loss, const std::string& layers) {
  const std::string features = std::to_string(width);
  return parse_model("[model]\nkind = \"layers\"\nfeatures = " + features +
                         "\nclasses = 5\nsequence = 6\nbatch = 2\n[input]\nkind = \"gaussian\"\n"
                         "cross = 0.3\n[loss]\nkind = \"" +
                         loss + "\"\n" + layers,
                     "list");
}
std::string gated(int width, const std::string& activation) {
  return "[[layer]]\ntype = \"gated\"\nwidth = " + std::to_string(width) + "\nactivation = \"" +
         activation + "\"\n";
}

// Of 8 Gaussian features the mean of |x|^2|g|^2 is twice the product of means, and nothing was
// stated of it.
TEST_CASE("weights of a gated unit whose tokens differ in size") {
  const double one = 8.0;
  for (const char* activation : {"relu", "tanh", "identity"})
    for (const int width : {8, 32, 128}) {
      const Trace trace =
          propagate(build_network(narrow_list(width, "mse", gated(width, activation))));
      for (const ParameterMoments& parameter : trace.parameters) {
        if (parameter.path.rfind("gated", 0) != 0) continue;
        CAPTURE(parameter.path);
        CAPTURE(width);
        const double stated = parameter.grad_second.truncation / parameter.grad_second.value;
        // e^(p v) - 1 of v = 2/width, the power p of a gradient along y being 1 for the identity's
        // second factor at least, and 3 for both of two homogeneous ones.
        CHECK(stated > std::expm1(0.5 * 2.0 / width));
        CHECK(stated < one * std::expm1(3 * 2.0 / width));
      }
    }
}

/// The largest stated error of a gradient, relative to it.
double widest_band(const Trace& trace) {
  double widest = 0;
  for (const ParameterMoments& parameter : trace.parameters)
    if (parameter.grad_second.value > 0)
      widest = std::max(widest, parameter.grad_second.truncation / parameter.grad_second.value);
  for (const Site& site : trace.sites)
    widest = std::max(widest, site.second.truncation / site.second.value);
  return widest;
}

// Sizes of products of products were taken to part ways where a gate that saturates bounds them:
// bands of 1e10.
TEST_CASE("a gate that saturates bounds what sizes make") {
  constexpr int seeds = 256;
  const std::string pool = "[[layer]]\ntype = \"pool\"\n";
  for (const char* loss : {"mse", "cross-entropy"}) {
    const ModelSpec spec = narrow_list(8, loss, gated(8, "square") + gated(8, "tanh") + pool);
    agree(loss, spec, seeds);
    // Noise of 3 deviations and e^2 of sizes.
    CHECK(widest_band(propagate(build_network(spec))) < 100);
  }
}

}  // namespace
}  // namespace scalecalc
