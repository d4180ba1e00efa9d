#include "model_field_cases.hpp"

#include <string>

#include "claims/engine.hpp"
#include "claims/library.hpp"
#include "claims/networks.hpp"
#include "claims/scope.hpp"
#include "support.hpp"

using namespace scalecalc;
using scalecalc::test::FieldCase;
using scalecalc::test::says;

namespace {

/// The model that a call describes.
ModelSpec model_of_call(const std::string& call) {
  const claims::Place place{"test.toml"};
  const CheckOptions options;
  claims::Networks networks = claims::Networks::built_in();
  claims::Engine engine(ClaimMethod::quadrature, options, networks);
  claims::Scope scope;
  claims::Lowering lowering(place, scope, engine);
  const claims::Node node = claims::parse_formula(call, place);
  claims::Arguments arguments(lowering, node, claims::model_keys(), {});
  return claims::model_of(arguments, networks);
}

std::string as_argument(const FieldCase& tried) {
  const std::string text = test::plain_text(tried.value);
  using Type = ModelField::Type;
  const Type type = tried.field->type;
  const bool is_quoted = type == Type::name || type == Type::formula || type == Type::scale;
  return is_quoted ? "\"" + text + "\"" : text;
}

/// A call that says what the case's base has beside the defaults.
std::string call_for(const FieldCase& tried, const std::string& argument) {
  const ModelSpec& base = tried.base;
  const std::string& name = tried.field->name;
  std::string call = "profile(kind=" + to_string(base.kind);
  const auto add = [&](bool wanted, const char* text) {
    if (wanted) call += std::string(", ") + text;
  };
  add(test::is_of_tokens(*tried.field) || name == "tie_head" || name == "head_classes",
      "input=tokens");
  add(name == "target_second", "loss=mse");
  const bool frames = test::is_of_frames(*tried.field);
  add(tried.field->section == "memory" && !frames, "cross_attention=true");
  add(name.starts_with("decoder_") || frames, "encoder_decoder=true");
  add(frames, "input=tokens");
  add(frames && name != "memory_features", "memory_features=4");
  add(name == "ramp", "placement=branchnorm");
  add(name == "branch_norms", "placement=pre, parallel=true");
  add(base.experts > 0, "experts=4");
  add(base.shared_ffn > 0, "shared_ffn=8");
  add(name.starts_with("rotary_") && name != "rotary_base", "rotary_base=100");
  add(name == "rotary_local_base", "causal=true, window=2");
  add(base.rotary.scaling != RotaryScaling::none, "head_width=2");
  add(base.rotary.scaling == RotaryScaling::linear, "rotary_scaling=linear");
  add(base.rotary.scaling == RotaryScaling::dynamic, "rotary_scaling=dynamic");
  add(base.rotary.scaling == RotaryScaling::llama3, "rotary_scaling=llama3");
  add(base.rotary.scaling == RotaryScaling::yarn, "rotary_scaling=yarn");
  add(base.rotary.scaling == RotaryScaling::longrope, "rotary_scaling=longrope");
  add(base.rotary.original != 0 && name != "rotary_original", "rotary_original=16");
  add(base.rotary.low != 0, "rotary_low=0.125");
  add(!base.rotary.short_factors.empty() && name != "rotary_short", "rotary_short=\"2\"");
  add(!base.rotary.long_factors.empty() && name != "rotary_long", "rotary_long=\"2\"");
  add(name == "alibi" || name == "window" || name == "relative_buckets", "causal=true");
  add(name == "relative_distance" || name == "relative_std", "relative_buckets=4");
  add(name == "class_tokens", "norm_eps=1e-6");
  add(name == "class_std", "norm_eps=1e-6, class_tokens=1");
  add(name == "patch_bias", "patch=8");
  add(name == "layer_scale" || name == "norm_scale" || name == "modulation", "placement=pre");
  add(tried.field->section == "condition", "placement=pre, modulation=adaln");
  add(name == "condition_class_std", "condition_classes=4");
  add(name == "sinusoids", "sequence=16");
  add(name == "qk_norm_all", "qk_norm=true");
  add(name == "gain_offset", "norm_affine=true");
  add(name == "norm_alpha", "norm=dyt");
  add(name == "window_pattern", "causal=true, window=2");
  add(base.kind == ModelSpec::Kind::mlp && base.norm == NormKind::rmsnorm, "norm=rmsnorm");
  add(base.kind == ModelSpec::Kind::mlp && (name == "alpha" || name == "drop_path"),
      "placement=post");
  return name == "kind" ? call + ")" : call + ", " + name + "=" + argument + ")";
}

bool has_claims(const FieldCase& tried) {
  return tried.base.kind != ModelSpec::Kind::layers;  // of a file alone
}

}  // namespace

TEST_CASE("a claim's network takes every field by its name") {
  for (const FieldCase& tried : test::field_cases()) {
    if (!has_claims(tried)) continue;
    const std::string call = call_for(tried, as_argument(tried));
    CAPTURE(call);
    const ModelSpec spec = model_of_call(call);
    CHECK(test::plain_text(tried.field->get(spec)) == test::plain_text(tried.value));
  }
  CHECK(model_of_call("site(kind=transformer, scale=\"1/head_width\")").attention_scale ==
        parse("1/head_width"));
  CHECK(model_of_call("site(kind=mlp, vocab=7)").vocab == 7);
}

TEST_CASE("a wrong value in a claim is one line, at its place, with the nearest name") {
  for (const FieldCase& tried : test::field_cases()) {
    const ModelField& field = *tried.field;
    if (!has_claims(tried) || field.name == "optimizer" || field.name == "kind") continue;
    const bool is_name = field.type == ModelField::Type::name;
    const std::string wrong =
        is_name ? "\"" + test::plain_text(tried.value) + "x\"" : "\"some+thing\"";
    const std::string call = call_for(tried, wrong);
    CAPTURE(call);
    try {
      model_of_call(call);
      FAIL("accepted");
    } catch (const Error& error) {
      const std::string line = error.what();
      CAPTURE(line);
      CHECK(says(line, "(test.toml:1:"));
      CHECK_FALSE(says(line, "\n"));
      if (test::is_of_numbers(field))
        CHECK(says(line, "must be positive numbers"));
      else if (is_name && field.name != "dropout_place")
        CHECK(says(line, "did you mean '" + test::plain_text(tried.value) + "'"));
    }
  }
  CHECK(says(test::complaint(test::claim_text("profile(kind=mlp, heds=2) == 1")),
             "unknown argument of profile 'heds'"));
  CHECK(says(test::complaint(test::claim_text("profile(kind=mlp, heads=2) == 1")),
             "an mlp has no heads (test.toml:2:"));
  CHECK(says(test::complaint(test::claim_text(
                 "profile(kind=transformer, scale=\"1\", attention_scale=\"2\") == 1")),
             "attention_scale is given twice"));
}
