#include <doctest/doctest.h>

#include <map>
#include <set>

#include "scalecalc/error.hpp"
#include "scalecalc/optimizer_mixture.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc::passes {
namespace {

Network network() {
  ModelSpec spec = find_model("pre-ln-12");
  spec.layers = 1;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 16;
  spec.sequence = 4;
  spec.vocab = 11;
  spec.bias = true;
  spec.dropout = spec.attention_dropout = 0;
  return build_network(spec);
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
  struct Case {
    const char *first, *roles, *rest;
  };
  for (const auto& [name, roles, rest] : {Case{"muon", "", "adamw"},
                                          {"muon", "", "lion"},
                                          {"adam", "", "sgd"},
                                          {"lamb", "", "adafactor"},
                                          {"ngd", "", "adam"},
                                          {"sgd", "", "ngd"},
                                          {"lars", "", "nesterov"},
                                          {"muon", "(ffn)", "adamw"},
                                          {"adam", "(q,k,bias)", "sgd"},
                                          {"sgd", "(embedding,head,norm)", "lion"},
                                          {"lion", "(attention)", "muon"}}) {
    CAPTURE(name);
    CAPTURE(roles);
    CAPTURE(rest);
    const OptimizerOptions options = optimizer_options(std::string(name) + roles + "+" + rest);
    CHECK(optimizer_text(options) == std::string(name) + roles + "+" + rest);
    Passes<float> passes(network(), {5, 1, "cpu"});
    Trainer<float> trainer(passes, options);
    for (std::int64_t step = 0; step < 3; ++step) {
      const Bits before = state_of(trainer);
      const Bits first = stepped(name, before, step), second = stepped(rest, before, step);
      trainer.step();
      const Bits mixed = state_of(trainer);
      std::set<bool> moved;  // of the first's, of the second's; a bias of keys never does
      for (const ParameterInfo& info : passes.parameters()) {
        const bool is_first = steps_first(options.first_roles, info);
        const Bits& alone = is_first ? first : second;
        for (const char* part : {"", " first", " second"}) {
          const std::string tensor = info.path + part;
          CAPTURE(tensor);
          REQUIRE(mixed.count(tensor) == alone.count(tensor));
          if (mixed.count(tensor) > 0) CHECK(mixed.at(tensor) == alone.at(tensor));
        }
        if (mixed.at(info.path) != before.at(info.path)) moved.insert(is_first);
      }
      CHECK(moved.size() == 2);
    }
  }
}

TEST_CASE("muon steps the embedding and the head where they are named, else adamw does") {
  for (const auto& [text, by_muon] :
       {std::pair{"muon(embedding,head)+adamw", true}, {"muon(ffn)+adamw", false}}) {
    CAPTURE(text);
    Passes<float> passes(network(), {5, 1, "cpu"});
    const Bits state = state_of(Trainer<float>(passes, optimizer_options(text)));
    // Muon has one average, adamw two.
    for (const ParameterInfo& info : passes.parameters())
      if (info.role == "embedding" || (info.role == "head" && info.is_matrix))
        CHECK((state.count(info.path + " second") == 0) == by_muon);
  }
}

TEST_CASE("names of optimizers in any case, and mixtures that are none") {
  CHECK(optimizer_options("AdamW").name == "adamw");
  CHECK(optimizer_text(optimizer_options("MUON+AdamW")) == "muon+adamw");
  for (const char* wrong : {"muon+", "+adam", "muon+adan", "adam+sgd+muon", "muon(ffn)",
                            "muon()+adam", "muon(fnn)+adam", "muon(ffn)adam", "muon(ffn+adam"}) {
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
