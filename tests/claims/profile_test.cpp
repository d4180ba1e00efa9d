#include <doctest/doctest.h>
#include <fmt/format.h>

#include "scalecalc/network.hpp"
#include "scalecalc/scaling.hpp"
#include "support.hpp"

namespace scalecalc {

// The change of the loss in one step is the optimizer's, which a profile of shares knows nothing
// of.
TEST_CASE("claims: a profile's change of the loss is that of the model's optimizer") {
  double last = 0;
  for (const char* name : {"sgd", "adam"}) {
    CAPTURE(name);
    ModelSpec spec = find_model("mlp-relu");
    spec.layers = 4;
    const Network network = build_network(spec);
    const Optimizer by = optimizer(name);
    const double expected =
        predicted_step(network, propagate(network), by.update, false, by.rest).delta_loss;
    REQUIRE(expected > 0);
    CHECK(expected != last);
    last = expected;
    const auto holds = [&](double value) {
      return test::check_one(fmt::format("profile(preset=\"mlp-relu\", layers=4, optimizer={})"
                                         ".delta_loss == {:.17g} within {:.3g}",
                                         name, value, 1e-9 * expected))
          .holds;
    };
    CHECK(holds(expected));
    CHECK_FALSE(holds(1.01 * expected));
  }
}

}  // namespace scalecalc
