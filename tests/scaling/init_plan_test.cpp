#include "scalecalc/init.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "scalecalc/error.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

const PlannedParameter& find(const InitPlan& plan, const std::string& path) {
  for (const PlannedParameter& parameter : plan.parameters)
    if (parameter.path == path) return parameter;
  FAIL("no parameter " << path);
  return plan.parameters.front();
}

double scale_of(const InitPlan& plan, const std::string& what, const std::string& pattern) {
  for (const PlannedScale& scale : plan.scales)
    if (scale.what == what && scale.pattern == pattern) return scale.value;
  FAIL("no scale " << what << " of " << pattern);
  return 0;
}

}  // namespace

TEST_CASE("a plan has every parameter of the network in its order") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const InitPlan plan = init_plan(find_model(preset.name));
    const std::vector<ParameterInfo> infos = parameters(plan.network);
    REQUIRE(plan.parameters.size() == infos.size());
    for (std::size_t i = 0; i < infos.size(); ++i) {
      CHECK(plan.parameters[i].path == infos[i].path);
      CHECK(plan.parameters[i].std == infos[i].std);
      CHECK_FALSE(plan.parameters[i].formula.empty());
    }
  }
}

TEST_CASE("GPT-2: 0.02, and 0.02/sqrt(2N) where a branch ends") {
  const InitPlan plan = init_plan(find_model("gpt2"));
  const PlannedParameter& q = find(plan, "block[11].attn.q.weight");
  CHECK(q.start == Start::normal);
  CHECK(q.std == rounded(0.02, 4));
  const PlannedParameter& o = find(plan, "block[11].attn.o.weight");
  CHECK(o.std == rounded(0.02 / std::sqrt(24.0), 4));
  CHECK(o.formula == "(2*N)^(-1/2)/50");
  CHECK(find(plan, "block[0].attn.norm.gain").start == Start::ones);
  CHECK(find(plan, "block[0].attn.norm.shift").start == Start::zeros);
  CHECK(find(plan, "block[0].ffn.in.bias").start == Start::zeros);
  CHECK(scale_of(plan, "attention", "block[*].attn") == rounded(0.125, 4));
}

TEST_CASE("a truncated normal keeps its std after truncation") {
  const InitPlan plan = init_plan(find_model("bert-base"));
  const PlannedParameter& q = find(plan, "block[0].attn.q.weight");
  CHECK(q.start == Start::truncated_normal);
  CHECK(q.std == rounded(0.02, 4));
  // The variance of N(0, 1) within 2: 1 - 4 phi(2)/erf(2/sqrt(2)), by parts.
  const double density = std::exp(-2.0) / std::sqrt(2 * std::acos(-1.0));
  const double inside = std::erf(2.0 / std::sqrt(2.0));
  CHECK(q.std / q.untruncated_std == rounded(std::sqrt(1 - 4 * density / inside), 64));
  CHECK(q.bound == rounded(2 * q.untruncated_std, 4));
}

TEST_CASE("a uniform is bounded by sqrt(3) std, and its rule names the fans") {
  const InitPlan plan = init_plan(find_model("vit-b"));
  const PlannedParameter& in = find(plan, "block[0].ffn.in.weight");
  CHECK(in.start == Start::uniform);
  CHECK(in.bound == rounded(std::sqrt(6.0 / (768 + 3072)), 4));
  CHECK(in.fan_rule == "2/(fan_in + fan_out)");
}

TEST_CASE("the architecture's scales: DeepNorm, ReZero, NTK") {
  ModelSpec spec = find_model("deepnet-encoder");
  spec.layers = 8;
  spec.alpha = Expr(2);
  CHECK(scale_of(init_plan(spec), "skip", "block[*].ffn") == 2.0);

  ModelSpec scaled = default_spec(ModelSpec::Kind::transformer);
  scaled.placement = Placement::pre;
  scaled.norm_scale = parse("l^(-1/2)");
  const InitPlan norms = init_plan(scaled);
  CHECK(scale_of(norms, "norm", "block[3].ffn.norm") == 0.5);
  CHECK(norms.scales.back().formula == "l^(-1/2)");
  scaled.norm_scale = parse("2/N");
  CHECK(scale_of(init_plan(scaled), "norm", "block[*].attn.norm") == 1.0 / 6);

  ModelSpec rezero = default_spec(ModelSpec::Kind::transformer);
  rezero.placement = Placement::rezero;
  const InitPlan plan = init_plan(rezero);
  CHECK(find(plan, "block[0].attn.scale").start == Start::zeros);

  ModelSpec ntk = default_spec(ModelSpec::Kind::transformer);
  ntk.ntk = true;
  const InitPlan unit = init_plan(ntk);
  CHECK(find(unit, "block[0].attn.q.weight").std == 1.0);
  CHECK(scale_of(unit, "output", "block[*].attn.q") ==
        rounded(1 / std::sqrt(static_cast<double>(ntk.width)), 4));
}

TEST_CASE("weights that start at zero are planned as zeros") {
  ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
  spec.placement = Placement::fixup;
  const InitPlan plan = init_plan(spec);
  const PlannedParameter& out = find(plan, "block[0].ffn.out.weight");
  CHECK(out.start == Start::zeros);
  CHECK(out.bound == 0);
}
