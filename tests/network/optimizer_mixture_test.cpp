#include <doctest/doctest.h>

#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"
#include "scalecalc/optimizer_mixture.hpp"

namespace scalecalc {
namespace {

std::string read_back(const char* text) {
  const auto mixture = read_mixture(text, "--optimizer");
  return mixture ? to_string(*mixture) : "none";
}

}  // namespace

TEST_CASE("a mixture reads back as it is written; a name or a rule is none") {
  for (const char* text : {"muon+adamw", "muon(ffn)+adamw", "adam(q,k,bias)+sgd"})
    CHECK(read_back(text) == text);
  CHECK(read_back("muon( FFN , o )+adamw") == "muon(ffn,o)+adamw");
  for (const char* text : {"muon", "sign(g)", "sign(g)*norm(theta)", "sign(g)+g", "max(g,0)+theta",
                           "g+theta", "theta+g", "2*g+theta", ""})
    CHECK(read_back(text) == "none");
  for (const char* text :
       {"adam+sgd+muon", "muon(ffn)", "muon(ffn)adam", "muon()+adam", "muon(fnn)+adam"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_mixture(text, "--optimizer"), Error);
  }
}

TEST_CASE("every parameter of every preset is stepped by the first under exactly its own role") {
  for (const Preset& preset : presets()) {
    ModelSpec spec = find_model(preset.name);
    if (spec.kind == ModelSpec::Kind::transformer) spec.layers = 1;
    for (const ParameterInfo& info : parameters(build_network(spec))) {
      CAPTURE(info.path);
      CHECK(steps_first({}, info) == is_hidden_matrix(info));
      int single = 0;
      for (const std::string& role : mixture_roles())
        if (role != "attention" && role != "ffn" && steps_first({role}, info)) ++single;
      CHECK(single == 1);
      CHECK(steps_first(mixture_roles(), info));
    }
  }
}

}  // namespace scalecalc
