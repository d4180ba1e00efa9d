#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/error.hpp"
#include "scalecalc/network.hpp"

using namespace scalecalc;

namespace {

const char kList[] = R"(
[model]
kind = "layers"
features = 8
classes = 4
sequence = 3

[[layer]]
type = "attention"
heads = 2
bias = true
std = 0.5
bias_std = 0.25
v_std = 0.125
o_std = 0

[[layer]]
type = "gated"
width = 16
in_std = 2

[[layer]]
type = "linear"
width = 8
bias = true
)";

double std_of(const Network& network, const std::string& path) {
  const std::vector<ParameterInfo> all = parameters(network);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ParameterInfo& one) { return one.path == path; });
  REQUIRE(found != all.end());
  return found->std;
}

}  // namespace

TEST_CASE("matrices of an attention and of a gate have stds of their own, biases theirs") {
  const ModelSpec spec = parse_model(kList, "model.toml");
  const Network network = build_network(spec);
  CHECK(std_of(network, "attention[0].q.weight") == 0.5);
  CHECK(std_of(network, "attention[0].k.weight") == 0.5);
  CHECK(std_of(network, "attention[0].v.weight") == 0.125);
  CHECK(std_of(network, "attention[0].o.weight") == 0);
  CHECK(std_of(network, "attention[0].k.bias") == 0.25);
  CHECK(std_of(network, "gated[0].in.weight") == 2);
  // lecun: the root of 1/8 as it is computed there
  CHECK(std_of(network, "gated[0].gate.weight") ==
        doctest::Approx(std_of(network, "linear[0].weight") * std::sqrt(2.0)));
  CHECK(std_of(network, "linear[0].bias") == 0);
  CHECK(model_text(parse_model(model_text(spec), "copy.toml")) == model_text(spec));
}

TEST_CASE("a std below 0 is refused by its key") {
  for (const std::string key : {"q_std", "k_std", "v_std", "o_std", "bias_std"}) {
    CAPTURE(key);
    const std::string text =
        std::string(kList) + "[[layer]]\ntype = \"attention\"\n" + key + " = -1\n";
    CHECK_THROWS_WITH_AS(parse_model(text, "model.toml"), doctest::Contains(key.c_str()), Error);
  }
}
