#include <doctest/doctest.h>

#include <map>
#include <set>

#include "passes/support.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc::passes {
namespace {

Network network() {
  NetworkOptions options;
  options.blocks = 1;
  options.reduction = Reduction::mean;
  options.tokens = options.bias = options.affine = true;
  Network built = HandBuilt(options).transformer();
  std::get<Linear>(built.layers.back().op).role = "head";
  return built;
}

using Bits = std::map<std::string, std::vector<float>>;

Bits state_of(const Trainer<float>& trainer) {
  Bits bits;
  for (std::size_t i = 0; i < trainer.state().size(); ++i) {
    const MatrixView<float> view = trainer.state(i);
    bits[trainer.state()[i].name].assign(view.data, view.data + view.size());
  }
  return bits;
}

/// One step of an optimizer alone, from this state after that many steps.
Bits stepped(const std::string& name, const Bits& from, std::int64_t steps) {
  Passes<float> passes(network(), {5, 1, "cpu"});
  Trainer<float> trainer(passes, optimizer_options(name));
  for (std::size_t i = 0; i < trainer.state().size(); ++i) {
    const auto found = from.find(trainer.state()[i].name);
    if (found != from.end() &&
        found->second.size() ==
            static_cast<std::size_t>(trainer.state()[i].rows * trainer.state()[i].columns))
      trainer.set_state(i, found->second.data());
  }
  trainer.set_steps(steps);
  trainer.step();
  return state_of(trainer);
}

}  // namespace

TEST_CASE("a mixture steps each parameter as its optimizer alone does, bit for bit") {
  for (const auto& [hidden, rest] : {std::pair{"muon", "adamw"},
                                     {"muon", "lion"},
                                     {"adam", "sgd"},
                                     {"lamb", "adafactor"},
                                     {"ngd", "adam"},
                                     {"sgd", "ngd"},
                                     {"lars", "nesterov"}}) {
    CAPTURE(hidden);
    CAPTURE(rest);
    const OptimizerOptions options = optimizer_options(std::string(hidden) + "+" + rest);
    CHECK(optimizer_text(options) == std::string(hidden) + "+" + rest);
    Passes<float> passes(network(), {5, 1, "cpu"});
    Trainer<float> trainer(passes, options);
    for (std::int64_t step = 0; step < 3; ++step) {
      const Bits before = state_of(trainer);
      const Bits first = stepped(hidden, before, step), second = stepped(rest, before, step);
      trainer.step();
      const Bits mixed = state_of(trainer);
      std::set<bool> moved;  // of hidden matrices, of others; a bias of keys never does
      for (const ParameterInfo& info : passes.parameters()) {
        const Bits& alone = is_hidden_matrix(info) ? first : second;
        for (const char* part : {"", " first", " second"}) {
          const std::string name = info.path + part;
          CAPTURE(name);
          REQUIRE(mixed.count(name) == alone.count(name));
          if (mixed.count(name) > 0) CHECK(mixed.at(name) == alone.at(name));
        }
        if (mixed.at(info.path) != before.at(info.path)) moved.insert(is_hidden_matrix(info));
      }
      CHECK(moved.size() == 2);
    }
  }
}

TEST_CASE("names of optimizers in any case, and mixtures that are none") {
  CHECK(optimizer_options("AdamW").name == "adamw");
  CHECK(optimizer_text(optimizer_options("MUON+AdamW")) == "muon+adamw");
  for (const char* wrong : {"muon+", "+adam", "muon+adan", "adam+sgd+muon"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(optimizer_options(wrong), Error);
  }
  OptimizerOptions options = optimizer_options("muon+adamw");
  options.rest.front().eps = -1;
  CHECK_THROWS_AS(validate(options), Error);
  options = optimizer_options("muon+adamw");
  options.rest.push_back(options.rest.front());
  CHECK_THROWS_AS(validate(options), Error);
}

}  // namespace scalecalc::passes
