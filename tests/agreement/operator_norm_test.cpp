#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/moments.hpp"
#include "scalecalc/steps.hpp"

using namespace scalecalc;

// Largest singular values of the first step and of the weights, beside steps that are taken.

namespace {

void norms_agree(const std::string& model, std::initializer_list<const char*> optimizers) {
  constexpr int draws = 12;
  const Network network = build_network(parse_model(model, "test"));
  const Trace trace = propagate(network);
  for (const char* name : optimizers) {
    OptimizerOptions rule = optimizer_options(name);
    rule.learning_rate = rule.adamw_learning_rate = 1e-5;
    rule.weight_decay = 0;
    const FirstStep said = predict_first_step(network, trace, rule);
    const FirstStep seen =
        first_step_of(sample_steps(network, {}, rule, 1, draws, false, {}, true));
    for (std::size_t i = 0; i < said.parameters.size(); ++i) {
      const StepParameter &a = said.parameters[i], &b = seen.parameters[i];
      INFO(name << " " << a.path << " said " << a.update_norm.value << " +- "
                << a.update_norm.truncation << " seen " << b.update_norm.value << " +- "
                << b.update_norm.error);
      REQUIRE(a.update_norm.is_known());
      CHECK(std::fabs(a.update_norm.value - b.update_norm.value) <=
            a.update_norm.truncation + 4 * b.update_norm.error);
      CHECK(std::fabs(a.norm.value - b.norm.value) <= a.norm.truncation + 4 * b.norm.error);
      // Of a square: 15% of the norm itself.
      CHECK(a.update_norm.truncation < 0.3 * a.update_norm.value);
    }
  }
}

}  // namespace

TEST_CASE("operator norm of the first step: transformers of three widths") {
  for (const int width : {64, 128, 256})
    for (const char* placement : {"pre", "post"})
      norms_agree(
          "[model]\nkind = \"transformer\"\nlayers = 2\nheads = 4\nvocab = 200\n"
          "sequence = 16\nwidth = " +
              std::to_string(width) + "\nffn = " + std::to_string(2 * width) + "\nplacement = \"" +
              placement + "\"\n",
          {"sgd", "adam", "lion", "lamb", "muon"});
}

TEST_CASE("operator norm of the first step: mlps of two widths") {
  for (const char* width : {"64", "256"})
    for (const char* activation : {"gelu", "tanh"})
      norms_agree(std::string("[model]\nkind = \"mlp\"\nlayers = 4\nfeatures = 128\nclasses = 64\n"
                              "sequence = 16\nwidth = ") +
                      width + "\nactivation = \"" + activation + "\"\n",
                  {"sgd", "adam", "muon"});
}

TEST_CASE("operator norm of the first step: not known of words, nor in front of a mask") {
  const Network network = build_network(
      parse_model("[model]\nkind = \"transformer\"\nlayers = 1\nwidth = 64\nheads = 4\nffn = 128\n"
                  "vocab = 50\nsequence = 8\ncausal = true\n[input]\nkind = \"tokens\"\n",
                  "test"));
  OptimizerOptions rule = optimizer_options("adam");
  rule.weight_decay = 0;
  const FirstStep said = predict_first_step(network, propagate(network), rule);
  for (const StepParameter& parameter : said.parameters) {
    CAPTURE(parameter.path);
    const std::string& path = parameter.path;
    const bool is_unknown =
        path.find("attn.q.weight") != path.npos || path.find("attn.k.weight") != path.npos ||
        path.find("attn.v.weight") != path.npos || path.find("embed") != path.npos;
    CHECK(parameter.update_norm.is_known() != is_unknown);
  }
}
