#include <doctest/doctest.h>

#include <set>

#include "model_field_cases.hpp"
#include "scalecalc/error.hpp"

using namespace scalecalc;
using scalecalc::test::field_cases;
using scalecalc::test::FieldCase;

namespace {

std::string refusal(const ModelSpec& spec, const std::string& field) {
  try {
    refuse_idle_fields(spec, {{field, "HERE"}});
  } catch (const Error& error) {
    CHECK(error.where() == "HERE");
    CHECK_FALSE(error.hint().empty());
    return error.message();
  }
  return {};
}

ModelSpec list_of(const std::string& layers) {
  return parse_model("[model]\nkind = \"layers\"\nfeatures = 8\nclasses = 3\n" + layers,
                     "list.toml");
}

constexpr char kLinear[] = "[[layer]]\ntype = \"linear\"\nwidth = 8\n";

}  // namespace

TEST_CASE("a field that a model has a reader of is taken") {
  for (const FieldCase& tried : field_cases()) {
    CAPTURE(tried.field->name);
    CHECK(refusal(tried.base, tried.field->full_name()).empty());
  }
}

TEST_CASE("a list refuses the fields that none of its layers reads, by name") {
  const ModelSpec list = list_of(std::string(kLinear) + "gain = 1\nbias = false\n");
  const std::set<std::string> idle = {
      "layers",     "alpha",       "lambda",          "activation",
      "norm",       "bias",        "norm_affine",     "norm_eps",
      "norm_alpha", "gain_offset", "attention_scale", "init.bias_variance"};
  for (const ModelField& field : model_fields()) {
    if (!field.belongs_to(ModelSpec::Kind::layers)) continue;
    CAPTURE(field.full_name());
    const std::string said = refusal(list, field.full_name());
    CHECK(said.starts_with(field.full_name() + " changes nothing of this list: ") ==
          idle.contains(field.full_name()));
  }
}

TEST_CASE("a scheme is of weights that have no std of their own") {
  const auto scheme = [](const std::string& layers, const char* field) {
    return refusal(parse_model("[model]\nkind = \"layers\"\nfeatures = 8\n" + layers, "m.toml"),
                   field);
  };
  const std::string
      own = std::string(kLinear) + "std = 0.1\n",
      conv1d = "[[layer]]\ntype = \"conv1d\"\nchannels = 8\n",
      attention = "[[layer]]\ntype = \"attention\"\nq_std = 1\nk_std = 1\nv_std = 1\n",
      gated = "[[layer]]\ntype = \"gated\"\nwidth = 8\nactivation = \"silu\"\ngate_std = 1\n";
  for (const char* field : {"init.scheme", "init.scheme.std", "init.weight_variance"}) {
    CAPTURE(field);
    CHECK(scheme(own, field) == std::string(field) +
                                    " changes nothing of this list: every weight of the list says "
                                    "std itself");
    CHECK_FALSE(scheme(attention + "o_std = 1\n" + gated + "in_std = 1\n" + own, field).empty());
    for (const std::string& reads :
         {std::string(kLinear), conv1d + own, attention + own, gated + own,
          own +
              "[[layer]]\ntype = \"residual\"\n"
              "[[layer.layers]]\ntype = \"linear\"\nwidth = 8\n" +
              own})
      CHECK(scheme(reads, field).empty());
  }
  const char* field = "init.distribution";
  CHECK(scheme(own, field).empty());
  CHECK(scheme(own + "distribution = \"uniform\"\n", field)
            .find("every weight of the list says distribution itself") != std::string::npos);
  CHECK(refusal(list_of(own + "distribution = \"uniform\"\n"), field).empty());
}

TEST_CASE("N is read by a scale that has it, where the scale is read") {
  ModelSpec list = list_of(kLinear);
  CHECK_FALSE(refusal(list, "layers").empty());
  list.lambda = 1 / Expr::symbol("N");
  CHECK(refusal(list, "layers").empty());
  list.lambda.reset();
  CHECK(refusal(list, "layers").empty());
  list = list_of(std::string(kLinear) + "gain = 1\n");
  list.lambda = list.alpha = list.attention_scale = 1 / Expr::symbol("N");
  CHECK_FALSE(refusal(list, "layers").empty());
}

TEST_CASE("lambda and biases reach weights where they stand") {
  const std::string residual =
      "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\ntype = \"activation\"\nactivation = "
      "\"tanh\"\n";
  const std::string shortcut =
      "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\ntype = \"linear\"\nwidth = 8\ngain = 1\n"
      "[[layer.shortcut]]\ntype = \"linear\"\nwidth = 8\n";
  CHECK(refusal(list_of(kLinear), "lambda").empty());
  CHECK_FALSE(refusal(list_of(kLinear + residual), "lambda").empty());
  CHECK_FALSE(refusal(list_of(shortcut), "lambda").empty());
  CHECK(refusal(list_of(shortcut), "bias").empty());
  ModelSpec ends_in_head = list_of(residual + kLinear);
  CHECK(refusal(ends_in_head, "bias").empty());
  ends_in_head.vocab = 0;
  CHECK_FALSE(refusal(ends_in_head, "bias").empty());
}

TEST_CASE("a list that reads words has no features") {
  ModelSpec words = list_of(kLinear);
  CHECK(refusal(words, "features").empty());
  words.input.kind = InputKind::tokens;
  CHECK_FALSE(refusal(words, "features").empty());
}
