#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/moments.hpp"
#include "scalecalc/steps.hpp"

using namespace scalecalc;

// The first step as predicted from moments beside steps that are taken.

namespace {

constexpr int seeds = 16;

const std::string transformer =
    "[model]\nkind = \"transformer\"\nlayers = 3\nwidth = 128\nheads = 4\nffn = 256\n"
    "vocab = 100\nsequence = 12\n";

OptimizerOptions rule_of(const std::string& name) {
  OptimizerOptions made = optimizer_options(name);
  made.learning_rate = made.adamw_learning_rate = name == "lars" ? 1e-2 : 1e-5;
  if (name == "lamb") made.learning_rate = 1e-4;
  made.weight_decay = 0;
  return made;
}

void agrees(const std::string& model, std::initializer_list<const char*> optimizers) {
  const Network network = build_network(parse_model(model, "test"));
  const Trace trace = propagate(network);
  for (const char* name : optimizers) {
    const OptimizerOptions rule = rule_of(name);
    const FirstStep said = predict_first_step(network, trace, rule);
    const FirstStep seen = first_step_of(sample_steps(network, {}, rule, 1, seeds));
    REQUIRE(said.sites.size() == seen.sites.size());
    for (std::size_t i = 0; i < said.sites.size(); ++i) {
      const Figure &a = said.sites[i].change, &b = seen.sites[i].change;
      INFO(rule.name << " " << said.sites[i].path << " said " << a.value << " seen " << b.value);
      REQUIRE(said.sites[i].path == seen.sites[i].path);
      CHECK(std::fabs(a.value - b.value) <= a.truncation + 4 * b.error);
      CHECK((b.value == 0 || a.truncation < 2 * a.value));
    }
    INFO(rule.name << " loss said " << said.loss_change.value << " seen "
                   << seen.loss_change.value);
    CHECK(std::fabs(said.loss_change.value - seen.loss_change.value) <=
          said.loss_change.truncation + 4 * seen.loss_change.error);
  }
}

}  // namespace

TEST_CASE("first step of transformers: sites, parameters and loss move as predicted") {
  const auto all = {"sgd", "adam", "lion", "lamb", "lars", "muon", "ngd"};
  agrees(transformer + "placement = \"pre\"\n", all);
  agrees(transformer + "placement = \"post\"\nbias = true\n",
         {"sgd", "adam", "muon", "rmsprop", "adagrad"});
  agrees(transformer +
             "placement = \"pre\"\ngated = true\nactivation = \"silu\"\n"
             "norm = \"rmsnorm\"\nnorm_affine = true\n",
         {"sgd", "lion", "muon"});
  agrees(transformer + "placement = \"pre\"\nparallel = true\n", {"sgd", "adam"});
  agrees(transformer + "placement = \"rezero\"\n", {"sgd", "adam"});
  agrees(transformer + "placement = \"pre\"\nnorm_affine = true\nnorm_scale = \"1/l\"\n",
         {"sgd", "adam"});
}

TEST_CASE("first step of transformers: causal masks, words, and sequences side by side") {
  agrees(transformer + "placement = \"pre\"\ncausal = true\n", {"sgd", "adam"});
  agrees(transformer + "placement = \"pre\"\n[input]\nkind = \"tokens\"\npositions = 0.01\n",
         {"sgd", "adam"});
  agrees(transformer + "placement = \"pre\"\nbatch = 3\n", {"sgd", "adam", "muon"});
}

TEST_CASE("first step of mlps: of widths and activations") {
  for (const char* width : {"128", "512"})
    for (const char* activation : {"relu", "gelu"})
      agrees(std::string("[model]\nkind = \"mlp\"\nlayers = 4\nfeatures = 128\nclasses = 64\n"
                         "sequence = 12\nwidth = ") +
                 width + "\nactivation = \"" + activation + "\"\n",
             {"sgd", "adam", "lamb", "muon"});
}

TEST_CASE("first step of a head alone: rows of a softmax' gradient under a sign") {
  // Steps of all other parameters are as good as none.
  OptimizerOptions rule = optimizer_options("adam");
  rule.learning_rate = 1e-13;
  rule.factors["head.weight"].learning_rate = 1e7;
  for (const char* sequence : {"1", "4", "16"})
    for (const char* vocab : {"60", "400"}) {
      CAPTURE(sequence);
      CAPTURE(vocab);
      const Network network = build_network(
          parse_model(std::string("[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 128\n"
                                  "heads = 4\nffn = 256\nplacement = \"pre\"\nvocab = ") +
                          vocab + "\nsequence = " + sequence + "\n[input]\nkind = \"tokens\"\n",
                      "test"));
      const FirstStep said = predict_first_step(network, propagate(network), rule);
      const FirstStep seen = first_step_of(sample_steps(network, {}, rule, 1, 4 * seeds));
      const Figure &a = said.sites.back().change, &b = seen.sites.back().change;
      INFO("said " << a.value << " +- " << a.truncation << " seen " << b.value << " +- "
                   << b.error);
      CHECK(std::fabs(a.value - b.value) <= a.truncation + 4 * b.error);
      CHECK(a.truncation < 0.25 * a.value);
      INFO("loss said " << said.loss_change.value << " seen " << seen.loss_change.value);
      CHECK(std::fabs(said.loss_change.value - seen.loss_change.value) <=
            said.loss_change.truncation + 4 * seen.loss_change.error);
    }
}
