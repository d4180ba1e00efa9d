#include <algorithm>
#include <array>

#include "network/parts.hpp"
#include "scalecalc/model_fields.hpp"

namespace scalecalc {
namespace {

bool has(const GivenFields& given, const std::string& field) {
  return given.count(field) > 0;
}

/// All three say which scheme it is.
void refuse_two_schemes(const GivenFields& given) {
  const auto refuse = [&given](const char* name, const char* field, const char* other_name,
                               const char* other) {
    if (has(given, field) && has(given, other))
      throw Error(ErrorKind::input, std::string(name) + " and " + other_name + " are both given",
                  given.at(field), "keep one of the two");
  };
  refuse("weight_variance", "init.weight_variance", "scheme", "init.scheme");
  refuse("weight_variance", "init.weight_variance", "std", "init.scheme.std");
  refuse("std", "init.scheme.std", "scheme", "init.scheme");
}

/// The first field that is given of a section, or the section itself.
const std::string* given_of(const GivenFields& given, const std::string& section) {
  const auto found = std::find_if(given.begin(), given.end(), [&](const auto& field) {
    return field.first == section || field.first.starts_with(section + ".");
  });
  return found == given.end() ? nullptr : &found->second;
}

}  // namespace

void complete_fields(ModelSpec& spec, const GivenFields& given) {
  refuse_two_schemes(given);
  if (has(given, "loss.target_second") && spec.loss != Loss::mse)
    throw Error(ErrorKind::input, "target_second belongs to the loss mse",
                given.at("loss.target_second"), "use kind = \"mse\", or leave it out");
  const std::string* memory = given_of(given, "memory");
  if (memory != nullptr && !uses_memory(spec))
    throw Error(
        ErrorKind::input, "[memory] is for cross-attention, and this model has none", *memory,
        spec.kind == ModelSpec::Kind::layers ? "use memory = true in an attention, or leave it out"
                                             : "use cross_attention = true, or leave it out");
  const std::string* condition = given_of(given, "condition");
  if (condition != nullptr && spec.modulation == AdaptiveNorm::none)
    throw Error(ErrorKind::input, "[condition] is what modulation is by, and this model has none",
                *condition, "use modulation = \"adaln-zero\", or leave it out");
  for (const char* field : {"decoder_layers", "decoder_alpha", "decoder_lambda"})
    if (has(given, field) && !spec.encoder_decoder)
      throw Error(ErrorKind::input,
                  std::string(field) + " is of two stacks, and this model is one stack",
                  given.at(field), "use encoder_decoder = true, or leave it out");
  if (!has(given, "bias") && has(given, "init.bias_variance") && spec.init.bias_variance > 0 &&
      !biases_of(spec).any())
    spec.bias = true;
  if (!has(given, "init.scheme")) return;
  if (spec.init.scheme == "bert" && !has(given, "init.distribution"))
    spec.init.distribution = Distribution::truncated_normal;
  if (spec.init.scheme == "t5" && !has(given, "attention_scale")) spec.attention_scale = 1;
}

}  // namespace scalecalc
