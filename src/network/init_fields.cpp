#include <algorithm>

#include "network/field_lists.hpp"
#include "network/frames.hpp"
#include "network/parts.hpp"
#include "network/weights.hpp"

namespace scalecalc {
namespace {

using Spec = ModelSpec;
using Kind = Spec::Kind;
using Range = ModelField::Range;
using Option = ModelField::Option;

std::string one_of(const std::vector<std::string>& names, const char* what, const std::string& name,
                   const std::string& where) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw unknown_name(what, name, names, where);
  return name;
}

std::string known_scheme(const std::string& name, const std::string& where) {
  return one_of(scheme_names(), "scheme", name, where);
}

/// Empty: by their paths.
std::string known_naming(const std::string& name, const std::string& where) {
  return name.empty() ? name : one_of(naming_names(), "naming", name, where);
}

bool has_frames(const Spec& spec) {
  return spec.memory.features != 0;
}

/// The gain of a role, left out where the model has its default.
ModelField gain_field(const std::string& role, unsigned kinds) {
  ModelField field;
  field.section = "init";
  field.key = "gain." + role;
  field.name = "gain_" + role;
  field.kinds = kinds;
  field.type = ModelField::Type::formula;
  field.symbols = {"N", "lambda"};
  field.example = "lambda/2";
  field.help = "of " + role + ", a formula in N and lambda";
  field.is_written = [role](const Spec& spec) { return spec.init.gain.count(role) > 0; };
  field.get = [role](const Spec& spec) -> FieldValue {
    const auto found = spec.init.gain.find(role);
    return found == spec.init.gain.end() ? Expr(1) : found->second;
  };
  field.assign = [role](Spec& spec, const FieldValue& value, const std::string&) {
    spec.init.gain[role] = std::get<Expr>(value);
  };
  return field;
}

ModelField input_norm_field() {
  ModelField field;
  field.section = "input";
  field.key = "norm";
  field.name = "input_norm";
  field.kinds = transformer;
  field.type = ModelField::Type::flag;
  field.option = Option::detail;
  field.help = "a norm behind the input (default: of post, branchnorm and ngpt alone)";
  field.is_written = [](const Spec& spec) { return spec.input.norm.has_value(); };
  field.get = [](const Spec& spec) -> FieldValue { return has_input_norm(spec); };
  field.assign = [](Spec& spec, const FieldValue& value, const std::string&) {
    spec.input.norm = std::get<bool>(value);
  };
  return field;
}

}  // namespace

std::vector<ModelField> gain_fields() {
  std::map<std::string, unsigned> kinds;
  for (const Kind kind : {Kind::transformer, Kind::mlp, Kind::layers})
    for (const std::string& role : gain_roles(kind))
      kinds[role] |= 1U << static_cast<unsigned>(kind);
  std::vector<ModelField> fields;
  for (const auto& [role, bits] : kinds) fields.push_back(gain_field(role, bits));
  return fields;
}

std::vector<ModelField> init_fields() {
  using Init = Spec::Init;
  const auto has_scheme = [](const char* scheme) {
    return [scheme](const Spec& spec) { return spec.init.scheme == scheme; };
  };
  const auto set_scheme = [](const char* scheme) {
    return [scheme](Spec& spec) { spec.init.scheme = scheme; };
  };
  return {
      Field("init", "scheme", all, &Spec::init, &Init::scheme)
          .checked(known_scheme, scheme_names)
          .option(Option::detail, "S", "\"lecun\"",
                  "of the weights: lecun, xavier, he, gpt2, t5, bert")
          .written_if([](const Spec& spec) {
            return spec.init.scheme != "std" && spec.init.scheme != "weight_variance";
          }),
      Field("init", "scheme.std", all, &Spec::init, &Init::std)
          .named("std")
          .option(Option::detail, "S", "0.02", "of all weights, instead of a scheme")
          .along(set_scheme("std"))
          .written_if(has_scheme("std")),
      Field("init", "weight_variance", all, &Spec::init, &Init::weight_variance)
          .option(Option::detail, "V", "2", "times the fan-in, instead of a scheme")
          .along(set_scheme("weight_variance"))
          .written_if(has_scheme("weight_variance")),
      Field("init", "bias_variance", all, &Spec::init, &Init::bias_variance)
          .range(Range::not_negative)
          .option(Option::detail, "V", "0.05", "of biases, which exist then"),
      Field("init", "distribution", all, &Spec::init, &Init::distribution)
          .option(Option::detail, "NAME", "uniform",
                  "normal, uniform, truncated_normal or orthogonal"),
      Field("init", "names", all, &Spec::init, &Init::names)
          .checked(known_naming, naming_names)
          .option(Option::none, "NAMES", "\"hf-gpt2\"",
                  "what weights are called elsewhere (scalecalc list names)"),
  };
}

std::vector<ModelField> data_fields() {
  using Input = Spec::Input;
  using Memory = Spec::Memory;
  return {
      Field("input", "kind", all, &Spec::input, &Input::kind)
          .named("input")
          .option(Option::detail, "KIND", "tokens", "gaussian or tokens"),
      Field("input", "second", all, &Spec::input, &Input::second)
          .range(Range::positive)
          .option(Option::detail, "Q", "1", "E[x^2] of the input"),
      Field("input", "cross", all, &Spec::input, &Input::cross)
          .option(Option::block, "R", "0.1", "E[x_t x_s] between two tokens of the input"),
      Field("input", "zipf", transformer | layers, &Spec::input, &Input::zipf)
          .range(Range::not_negative)
          .option(Option::detail, "S", "1", "word k of tokens is drawn as often as k^-S"),
      Field("input", "positions", transformer | layers, &Spec::input, &Input::positions)
          .range(Range::not_negative)
          .option(Option::detail, "V", "1", "variance of learned positions that are added"),
      Field("input", "sinusoids", transformer, &Spec::input, &Input::sinusoids)
          .option(Option::detail, "", "",
                  "fixed sines and cosines of a square grid of patches are added")
          .written_if([](const Spec& spec) { return spec.input.sinusoids; }),
      Field("input", "patch", transformer, &Spec::input, &Input::patch)
          .range(Range::size_or_none)
          .option(Option::detail, "D", "768",
                  "features of a patch, which a map makes as wide as the model (default none)")
          .written_if([](const Spec& spec) { return spec.input.patch != 0; }),
      Field("input", "class_std", transformer, &Spec::input, &Input::class_std)
          .range(Range::not_negative)
          .option(Option::detail, "S", "0.02", "of class tokens (default 0)")
          .written_if([](const Spec& spec) { return spec.class_tokens != 0; }),
      Field("input", "segments", transformer | layers, &Spec::input, &Input::segments)
          .range(Range::size_or_none)
          .option(Option::detail, "K", "2",
                  "rows of a table of segments, of which every token gets the first (default none)")
          .written_if([](const Spec& spec) { return spec.input.segments > 0; }),
      Field("input", "embedding_width", transformer, &Spec::input, &Input::embedding_width)
          .range(Range::size_or_none)
          .option(Option::detail, "D", "128",
                  "features of the tables of tokens, which a map makes as wide as the model "
                  "(default: the width)")
          .written_if([](const Spec& spec) { return spec.input.embedding_width != 0; }),
      Field("input", "multiplier", transformer | layers, &Spec::input, &Input::multiplier)
          .named("embedding_multiplier")
          .range(Range::positive)
          .option(Option::detail, "A", "16", "of the embedding's rows (default 1)")
          .written_if([](const Spec& spec) { return spec.input.multiplier != 1; }),
      input_norm_field(),
      Field("memory", "sequence", transformer | layers, &Spec::memory, &Memory::sequence)
          .named("memory_sequence")
          .option(Option::detail, "T", "24", "tokens that cross-attention attends to (default 24)"),
      Field("memory", "second", transformer | layers, &Spec::memory, &Memory::second)
          .named("memory_second")
          .range(Range::positive)
          .option(Option::detail, "Q", "1", "E[x^2] of the memory (default 1)"),
      Field("memory", "cross", transformer | layers, &Spec::memory, &Memory::cross)
          .named("memory_cross")
          .option(Option::detail, "R", "0.1", "E[x_t x_s] of the memory (default 0)"),
      Field("memory", "features", transformer, &Spec::memory, &Memory::features)
          .named("memory_features")
          .range(Range::size_or_none)
          .option(
              Option::detail, "D", "80",
              "of frames that an encoder reads through convolutions, beside a decoder of tokens "
              "(default none)")
          .written_if(has_frames),
      Field("memory", "conv_kernel", transformer, &Spec::memory, &Memory::conv_kernel)
          .named("memory_conv_kernel")
          .option(Option::detail, "K", "3", "of these convolutions, an odd number (default 3)")
          .written_if(has_frames),
      Field("memory", "conv_strides", transformer, &Spec::memory, &Memory::conv_strides)
          .named("memory_conv_strides")
          .checked(known_strides, {})
          .option(Option::detail, "X", "\"1 2\"", "of these convolutions, one each (default 1 2)")
          .written_if(has_frames),
      Field("memory", "sinusoids", transformer, &Spec::memory, &Memory::sinusoids)
          .named("memory_sinusoids")
          .option(Option::detail, "", "", "fixed sines and cosines are added behind them")
          .written_if([](const Spec& spec) { return spec.memory.sinusoids; }),
      Field("loss", "kind", all, &Spec::loss)
          .named("loss")
          .option(Option::detail, "KIND", "mse", "cross-entropy or mse"),
      Field("loss", "target_second", all, &Spec::target_second)
          .range(Range::not_negative)
          .option(Option::detail, "Q", "1", "E[t^2] of the targets of mse (default 1)")
          .written_if([](const Spec& spec) { return spec.loss == Loss::mse; }),
      Field("loss", "reduction", all, &Spec::reduction)
          .option(Option::detail, "NAME", "mean", "of the loss over tokens: sum or mean"),
  };
}

}  // namespace scalecalc
