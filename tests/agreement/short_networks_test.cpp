#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibration.hpp"

/// All networks of two layers of these kinds, with either loss and tokens that share nothing or
/// much. A rule that is off is off by much here, where no other hides it.
namespace scalecalc::random_models {
namespace {

struct Kind {
  const char* name;
  const char* fields;
};
const std::vector<Kind> kinds = {
    {"linear", "type = \"linear\"\nwidth = 32\n"},
    {"rmsnorm", "type = \"norm\"\nnorm = \"rmsnorm\"\n"},
    {"batchnorm", "type = \"norm\"\nnorm = \"batchnorm\"\n"},
    {"relu", "type = \"activation\"\nactivation = \"relu\"\n"},
    {"tanh", "type = \"activation\"\nactivation = \"tanh\"\n"},
    {"sigmoid", "type = \"activation\"\nactivation = \"sigmoid\"\n"},
    {"gated", "type = \"gated\"\nwidth = 32\nactivation = \"silu\"\n"},
    {"attention", "type = \"attention\"\nheads = 2\n"},
    {"sum", "type = \"residual\"\n[[layer.layers]]\ntype = \"linear\"\nwidth = 32\n"},
    {"block",
     "type = \"residual\"\n[[layer.layers]]\ntype = \"norm\"\nnorm = \"rmsnorm\"\n"
     "[[layer.layers]]\ntype = \"linear\"\nwidth = 32\n"
     "[[layer.layers]]\ntype = \"activation\"\nactivation = \"relu\"\n"},
};

/// Known to be off: products of products, whose sizes part ways (E|y|^4 is 10 times (E|y|^2)^2);
/// the smallest variances that a norm over samples finds among products; and sharp rows over keys
/// that share nothing, whose overlaps vary by 1.6 times what the rule has, as some keys win all
/// heads.
const std::set<std::pair<std::string, std::string>> beyond_the_rules = {
    {"gated", "gated"},      {"gated", "batchnorm"},    {"gated", "attention"},
    {"attention", "linear"}, {"attention", "rmsnorm"},  {"attention", "batchnorm"},
    {"attention", "sum"},    {"batchnorm", "attention"}};

struct Short {
  std::string name;
  ModelSpec spec;
};

std::vector<Short> short_networks() {
  std::vector<Short> all;
  for (const Kind& first : kinds)
    for (const Kind& second : kinds) {
      if (beyond_the_rules.contains({first.name, second.name})) continue;
      for (const char* loss : {"mse", "cross-entropy"})
        for (const char* cross : {"0", "0.5"}) {
          const std::string name =
              std::string(first.name) + ", " + second.name + ", " + loss + ", cross " + cross;
          const std::string text =
              "[model]\nkind = \"layers\"\nfeatures = 32\nclasses = 20\nsequence = 24\n"
              "batch = 2\n[init]\nscheme = \"he\"\n[input]\nkind = \"gaussian\"\ncross = " +
              std::string(cross) + "\n[loss]\nkind = \"" + loss + "\"\n[[layer]]\n" + first.fields +
              "[[layer]]\n" + second.fields;
          all.push_back({name, parse_model(text, name)});
        }
    }
  return all;
}

TEST_CASE("networks of two layers agree with passes") {
  const std::vector<Short> networks = short_networks();
  std::vector<ModelSpec> specs;
  for (const Short& network : networks) specs.push_back(network.spec);
  constexpr double promise = 0.01, confidence = 0.999;
  int failed = 0;
  const std::vector<Trial> trials = calibrate(specs, 0, {});
  for (const Trial& trial : trials) {
    const std::string& name = networks[static_cast<std::size_t>(trial.index)].name;
    CAPTURE(name);
    CHECK(trial.refused == "");
    if (!trial.failed()) continue;
    ++failed;
    const std::string fault = fault_of(trial.is_systematic() ? *trial.again : trial.first);
    CAPTURE(fault);
    CHECK_FALSE(trial.is_systematic());
  }
  CHECK(failed <= most_failures(static_cast<int>(trials.size()), promise, confidence));
}

}  // namespace
}  // namespace scalecalc::random_models
