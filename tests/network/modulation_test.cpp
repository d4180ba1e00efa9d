#include <doctest/doctest.h>

#include <string>

#include "describe.hpp"
#include "problem.hpp"
#include "small_model.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

ModelSpec modulated(AdaptiveNorm kind) {
  ModelSpec spec = testing::small();
  spec.modulation = kind;
  spec.condition.features = 6;
  return spec;
}

std::string modulation_problem(const Change& change) {
  return problem([&](ModelSpec& s) {
    s.placement = Placement::pre;
    s.modulation = AdaptiveNorm::adaln;
    change(s);
  });
}

}  // namespace

TEST_CASE("a condition modulates the norm and gates the end of every branch, and the last norm") {
  const Network network = build_network(modulated(AdaptiveNorm::adaln));
  CHECK(network.condition_features == 6);
  CHECK(description(network) ==
        "condition( condition\nlinear condition.in\nact condition.act\nlinear condition.out\n)\n"
        "act condition.activated\n"
        "( block[0].attn\nnorm block[0].attn.norm\nlinear block[0].attn.modulation.scale\n"
        "linear block[0].attn.modulation.shift\nmodulation block[0].attn.modulated\n"
        "linear block[0].attn.q\nlinear block[0].attn.k\nlinear block[0].attn.v\n"
        "mix block[0].attn\nlinear block[0].attn.o\nlinear block[0].attn.modulation.gate\n"
        "modulation block[0].attn.gated\n)\n"
        "( block[0].ffn\nnorm block[0].ffn.norm\nlinear block[0].ffn.modulation.scale\n"
        "linear block[0].ffn.modulation.shift\nmodulation block[0].ffn.modulated\n"
        "linear block[0].ffn.in\nact block[0].ffn.act\nlinear block[0].ffn.out\n"
        "linear block[0].ffn.modulation.gate\nmodulation block[0].ffn.gated\n)\n"
        "norm final_norm\nlinear final_norm.modulation.scale\n"
        "linear final_norm.modulation.shift\nmodulation final_norm.modulated\nlinear head\n");
}

TEST_CASE("maps of the condition start by the scheme, or at 0") {
  for (const auto& [kind, variance] :
       {std::pair{AdaptiveNorm::adaln, 1.0 / 8}, {AdaptiveNorm::adaln_zero, 0.0}}) {
    ModelSpec spec = modulated(kind);
    spec.bias = true;
    spec.condition.classes = 3;
    spec.condition.class_std = 0.5;
    const Network network = build_network(spec);
    std::size_t maps = 0;
    for (const ParameterInfo& info : parameters(network)) {
      if (info.role == "modulation" && info.is_matrix) {
        ++maps;
        CHECK(info.std * info.std == doctest::Approx(variance).epsilon(rounding(1)));
      }
      if (info.path == "condition.class") {
        CHECK(info.rows == 3);
        CHECK(info.columns == spec.width);
        CHECK(info.std == 0.5);
      }
    }
    CHECK(maps == 8);
  }
}

TEST_CASE("what a modulated transformer has no place for is refused, with the reason") {
  CHECK(modulation_problem([](ModelSpec&) {}).empty());
  CHECK(modulation_problem([](ModelSpec& s) { s.placement = Placement::post; }) ==
        "modulation adaln has no place for placement: it is of norms in front of branches");
  CHECK(modulation_problem([](ModelSpec& s) { s.norm_affine = true; }) ==
        "modulation adaln has no place for norm_affine: it is the gain and the shift of the norms");
  for (const Change& change : {Change([](ModelSpec& s) { s.norm = NormKind::batchnorm; }),
                               Change([](ModelSpec& s) { s.layer_scale = 0.1; }),
                               Change([](ModelSpec& s) { s.drop_path = 0.1; }),
                               Change([](ModelSpec& s) { s.parallel = true; }),
                               Change([](ModelSpec& s) { s.pool = Pooling::mean; }),
                               Change([](ModelSpec& s) { s.encoder_decoder = true; })})
    CHECK(modulation_problem(change).starts_with("modulation adaln has no place for "));
  CHECK(modulation_problem([](ModelSpec& s) { s.condition.cross = 2; }) ==
        "cross must be from 0 to second = 1, got 2");
}

TEST_CASE("a condition without modulation is refused at its place") {
  try {
    parse_model("[model]\nkind = \"transformer\"\n[condition]\nclasses = 3\n", "file");
    FAIL("was taken");
  } catch (const Error& error) {
    CHECK(error.message() == "[condition] is what modulation is by, and this model has none");
    CHECK(error.where().starts_with("file:"));
  }
}
