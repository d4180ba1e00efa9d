#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "model_field_cases.hpp"
#include "scalecalc/error.hpp"

using namespace scalecalc;
using scalecalc::test::field_cases;
using scalecalc::test::FieldCase;
using scalecalc::test::plain_text;

namespace {

/// All members, by reference: another one of a struct does not compile until it is here.
auto members(const ModelSpec::Init& init) {
  const auto& [scheme, std, weight_variance, bias_variance, distribution, names, gain] = init;
  return std::tie(scheme, std, weight_variance, bias_variance, distribution, names, gain);
}
auto members(const ModelSpec::Input& input) {
  const auto& [kind, second, cross, zipf, positions, sinusoids, patch, class_std, segments,
               embedding_width, multiplier, norm] = input;
  return std::tie(kind, second, cross, zipf, positions, sinusoids, patch, class_std, segments,
                  embedding_width, multiplier, norm);
}
auto members(const ModelSpec::Memory& memory) {
  const auto& [sequence, second, cross, features, conv_kernel, conv_strides, sinusoids] = memory;
  return std::tie(sequence, second, cross, features, conv_kernel, conv_strides, sinusoids);
}
auto members(const RotaryStretch& stretch) {
  const auto& [scaling, factor, original, low, high, truncate, attention, short_factors,
               long_factors] = stretch;
  return std::tie(scaling, factor, original, low, high, truncate, attention, short_factors,
                  long_factors);
}
auto members(const ModelSpec::Condition& condition) {
  const auto& [features, second, cross, classes, class_std] = condition;
  return std::tie(features, second, cross, classes, class_std);
}
auto members(const ModelSpec& spec) {
  const auto& [kind, layers, width, heads, kv_heads, head_width, ffn, vocab, features, sequence,
               batch, causal, activation, gated, experts, top_k, expert_ffn, norm_topk_prob,
               shared_ffn, shared_gate, qk_norm, qk_norm_all, rotary_base, rotary_fraction, rotary,
               rotary_local_base, alibi, relative_buckets, relative_distance, relative_std, window,
               window_pattern, residual_attention, value_residual, parallel, branch_norms, tie_head,
               class_tokens, pool, head_classes, head_transform, cross_attention, attention_softcap,
               logit_softcap, dropout, dropout_place, attention_dropout, drop_path, drop_path_rises,
               ntk, bias, attention_bias, qkv_bias, k_bias, ffn_bias, patch_bias, head_bias,
               norm_affine, gain_offset, layer_scale, norm, norm_eps, norm_alpha, norm_scale,
               placement, alpha, lambda, attention_scale, encoder_decoder, decoder_layers,
               decoder_alpha, decoder_lambda, modulation, optimizer, init, names, input, memory,
               condition, loss, target_second, reduction, ramp, layer_list, height] = spec;
  // [names] and [[layer]] are no fields of one value.
  static_cast<void>(names);
  static_cast<void>(layer_list);
  return std::tuple_cat(
      std::tie(kind, layers, width, heads, kv_heads, head_width, ffn, vocab, features, sequence,
               batch, causal, activation, gated, experts, top_k, expert_ffn, norm_topk_prob,
               shared_ffn, shared_gate, qk_norm, qk_norm_all, rotary_base, rotary_fraction,
               rotary_local_base, alibi, relative_buckets, relative_distance, relative_std, window,
               window_pattern, residual_attention, value_residual, parallel, branch_norms, tie_head,
               class_tokens, pool, head_classes, head_transform, cross_attention, attention_softcap,
               logit_softcap, dropout, dropout_place, attention_dropout, drop_path, drop_path_rises,
               ntk, bias, attention_bias, qkv_bias, k_bias, ffn_bias, patch_bias, head_bias,
               norm_affine, gain_offset, layer_scale, norm, norm_eps, norm_alpha, norm_scale,
               placement, alpha, lambda, attention_scale, encoder_decoder, decoder_layers,
               decoder_alpha, decoder_lambda, modulation, optimizer, loss, target_second, reduction,
               ramp, height),
      members(init), members(rotary), members(input), members(memory), members(condition));
}

template <std::size_t... Index>
std::set<std::size_t> changed(const ModelSpec& a, const ModelSpec& b,
                              std::index_sequence<Index...>) {
  const auto left = members(a), right = members(b);
  std::set<std::size_t> indices;
  (void)std::initializer_list<int>{
      (std::get<Index>(left) == std::get<Index>(right) ? 0 : (indices.insert(Index), 0))...};
  return indices;
}

using AllMembers = decltype(members(std::declval<const ModelSpec&>()));
constexpr std::size_t member_count = std::tuple_size_v<AllMembers>;

std::string error_of(const std::string& text) {
  try {
    parse_model(text, "m.toml");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    return error.what();
  }
  return "";
}

/// The model file with another text behind the field's "key = ".
std::string with_text(const FieldCase& tried, const std::string& text) {
  const ModelField& field = *tried.field;
  ModelSpec spec = tried.base;
  field.set(spec, tried.value, "");
  std::string file = model_text(spec);
  const std::string key = field.key.substr(field.key.find('.') + 1) + " = ";
  std::size_t at = file.find("[" + field.section + "]\n");
  do at = file.find(key, at + 1);
  while (at != std::string::npos && file[at - 1] != '\n' && file[at - 1] != ' ');
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + key.size();
  return file.replace(from, file.find_first_of(",}\n", from) - from, text);
}

std::string wrong_text(const FieldCase& tried) {
  switch (tried.field->type) {
    case ModelField::Type::integer:
    case ModelField::Type::number: return "\"many\"";
    case ModelField::Type::flag: return "3";
    case ModelField::Type::name: return "\"" + plain_text(tried.value) + "x\"";
    case ModelField::Type::formula:
    case ModelField::Type::scale: break;
  }
  return "\"2*Nx\"";
}

}  // namespace

TEST_CASE("every field is written to a model file and read back") {
  for (const FieldCase& tried : field_cases()) {
    ModelSpec spec = tried.base;
    tried.field->set(spec, tried.value, "test");
    const std::string text = model_text(spec);
    CAPTURE(text);
    const ModelSpec again = parse_model(text, "again.toml");
    CHECK(plain_text(tried.field->get(again)) == plain_text(tried.value));
    CHECK(model_text(again) == text);
  }
}

TEST_CASE("every member of a ModelSpec is a field") {
  std::set<std::size_t> found;
  for (const FieldCase& tried : field_cases()) {
    ModelSpec spec = tried.base;
    tried.field->set(spec, tried.value, "test");
    found.merge(changed(tried.base, spec, std::make_index_sequence<member_count>()));
  }
  // The kind is not changed: a model of another kind is another model.
  found.insert(0);
  for (std::size_t index = 0; index < member_count; ++index) {
    CAPTURE(index);
    CHECK(found.count(index) == 1);
  }
}

TEST_CASE("a wrong value in a model file is one line, at its place, with the nearest name") {
  for (const FieldCase& tried : field_cases()) {
    const ModelField& field = *tried.field;
    if (field.name == "optimizer") continue;  // a rule in g and theta, read by who uses it
    const std::string text = with_text(tried, wrong_text(tried));
    CAPTURE(text);
    const std::string error = error_of(text);
    CAPTURE(error);
    CHECK(error.find("(m.toml:") != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    if (scalecalc::test::is_of_numbers(field))
      CHECK(error.find("must be positive numbers") != std::string::npos);
    else if (field.type == ModelField::Type::name)
      CHECK(error.find(field.name == "dropout_place" ? "did you mean 'branch'"
                                                     : "did you mean '" + plain_text(tried.value) +
                                                           "'") != std::string::npos);
    else if (field.type == ModelField::Type::formula || field.type == ModelField::Type::scale)
      CHECK(error.find("Nx") != std::string::npos);
    else
      CHECK(error.find(" must be ") != std::string::npos);
  }
}

TEST_CASE("a value of another type is refused, an integer is a number and a formula") {
  for (const FieldCase& tried : field_cases()) {
    const ModelField& field = *tried.field;
    CAPTURE(field.name);
    ModelSpec spec = tried.base;
    const bool is_name = field.type == ModelField::Type::name;
    const FieldValue wrong = is_name ? FieldValue(true) : FieldValue(std::string("some"));
    try {
      field.set(spec, wrong, "HERE");
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.where() == "HERE");
      CHECK(error.message().starts_with(field.name + " must be "));
    }
    const bool takes_integer = !is_name && field.type != ModelField::Type::flag;
    if (takes_integer) {
      field.set(spec, std::int64_t{1}, "HERE");
      CHECK(plain_text(field.get(spec)) == "1");
    }
  }
}

TEST_CASE("fields are found by name, older name and kind") {
  using Kind = ModelSpec::Kind;
  CHECK(find_field("scale", Kind::transformer)->full_name() == "attention_scale");
  CHECK(find_field("vocab", Kind::mlp)->full_name() == "classes");
  CHECK(find_field("std", Kind::mlp)->full_name() == "init.scheme.std");
  CHECK(find_field("heads", Kind::mlp) == nullptr);
  CHECK(find_field("", Kind::mlp) == nullptr);
  CHECK(model_field("kv_heads", Kind::transformer, "").option_name() == "--kv-heads");
  CHECK_THROWS_WITH(model_field("heads", Kind::mlp, "HERE"),
                    "an mlp has no heads (HERE); leave it out, or use a model of kind "
                    "\"transformer\"");
  CHECK_THROWS_WITH(model_field("classes", Kind::transformer, "HERE"),
                    "a transformer has no classes (HERE); leave it out, or use a model of kind "
                    "\"mlp\" or \"layers\"");
  CHECK_THROWS_WITH_AS(model_field("heds", Kind::transformer, "HERE"),
                       doctest::Contains("unknown field 'heds' (HERE); did you mean 'heads'"),
                       Error);
}

TEST_CASE("no two fields of a kind share a name or a place") {
  for (const ModelSpec::Kind kind :
       {ModelSpec::Kind::transformer, ModelSpec::Kind::mlp, ModelSpec::Kind::layers}) {
    std::set<std::string> names, places;
    for (const ModelField& field : model_fields()) {
      if (!field.belongs_to(kind)) continue;
      CAPTURE(field.name);
      CHECK(names.insert(field.name).second);
      if (!field.older.empty()) CHECK(names.insert(field.older).second);
      CHECK(places.insert(field.full_name()).second);
      CHECK_FALSE(field.help.empty());
      if (field.option == ModelField::Option::none) continue;
      CHECK(field.placeholder.empty() == (field.type == ModelField::Type::flag));
    }
  }
}

TEST_CASE("given fields say something of others") {
  ModelSpec spec;
  spec.init.scheme = "t5";
  complete_fields(spec, {{"init.scheme", "here"}});
  CHECK(spec.attention_scale.is_one());
  spec = {};
  spec.init.bias_variance = 0.1;
  complete_fields(spec, {{"init.bias_variance", "here"}});
  CHECK(spec.bias);
  CHECK_THROWS_WITH(complete_fields(spec, {{"init.scheme", "a"}, {"init.scheme.std", "b"}}),
                    "std and scheme are both given (b); keep one of the two");
  CHECK_THROWS_WITH_AS(complete_fields(spec, {{"memory.cross", "a"}}),
                       doctest::Contains("for cross-attention, and this model has none (a)"),
                       Error);
}
