#include "moments/layers/dyt.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// Every dyt as an activation of its own, but on the mix of an attention.
void as_activations(std::vector<Layer>& layers) {
  for (Layer& layer : layers) {
    if (auto* residual = std::get_if<Residual>(&layer.op)) as_activations(residual->body);
    const auto* norm = std::get_if<Norm>(&layer.op);
    if (norm == nullptr || norm->kind != NormKind::dyt) continue;
    layer.op = ActivationLayer{norm->path, "tanh(" + std::to_string(norm->alpha) + "*x)"};
  }
}

}  // namespace

TEST_CASE("dyt is the activation tanh(alpha x) of every site and weight") {
  for (const char* toml :
       {"model = {kind=\"transformer\", layers=2, placement=\"pre\", causal=true, norm=\"dyt\", "
        "norm_alpha=0.75}",
        "model = {kind=\"transformer\", layers=2, placement=\"sandwich\", batch=2, norm=\"dyt\", "
        "dropout=0.1}\ninput = {cross=0.5}",
        "model = {kind=\"transformer\", layers=2, placement=\"sub-ln\", norm=\"dyt\"}",
        "model = {kind=\"mlp\", layers=3, placement=\"res-post\", norm=\"dyt\", "
        "activation=\"relu\"}"}) {
    CAPTURE(toml);
    const Network network = build_network(parse_model(toml, "model"));
    Network plain = network;
    as_activations(plain.layers);
    const Trace dyt = propagate(network), activations = propagate(plain);
    REQUIRE(dyt.sites.size() == activations.sites.size());
    for (std::size_t i = 0; i < dyt.sites.size(); ++i) {
      CAPTURE(dyt.sites[i].path);
      CHECK(dyt.sites[i].second.value == activations.sites[i].second.value);
      CHECK(dyt.sites[i].grad_second.value == activations.sites[i].grad_second.value);
      CHECK(dyt.sites[i].grad_cross.value == activations.sites[i].grad_cross.value);
    }
    const auto of_weights = [](const Trace& trace) {
      std::vector<ParameterMoments> kept;
      for (const ParameterMoments& parameter : trace.parameters) {
        CHECK(parameter.grad_second.value > 0);
        if (!parameter.path.ends_with(".alpha")) kept.push_back(parameter);
      }
      return kept;
    };
    const std::vector<ParameterMoments> left = of_weights(dyt), right = of_weights(activations);
    CHECK(left.size() < dyt.parameters.size());
    REQUIRE(left.size() == right.size());
    for (std::size_t i = 0; i < left.size(); ++i)
      CHECK(left[i].grad_second.value == right[i].grad_second.value);
  }
}

// The square of a Gaussian number has three times its mean's square; of few terms, as where all but
// a feature in a thousand are past the bound of tanh, more.
TEST_CASE("the gradient of a tanh norm's alpha varies as the square of one sum") {
  const auto spread = [](const std::string& weight_variance) {
    return parameter(trace_of_model("model = {kind=\"mlp\", layers=2, width=32, norm=\"dyt\", "
                                    "placement=\"pre\", activation=\"tanh\"}\n"
                                    "init = {weight_variance=" +
                                    weight_variance + "}"),
                     "layer[1].norm.alpha")
        .grad_spread;
  };
  const double one = std::log(3);
  // Less what its mean has of it, more for the number of terms.
  CHECK(spread("1") > one - 0.1);
  CHECK(spread("1") < one + 0.1);
  CHECK(spread("1e6") > one + 0.2);
}
