#include "network/model_keys.hpp"

namespace scalecalc {
namespace {

using Kind = ModelSpec::Kind;
using Keys = std::vector<Key<ModelSpec>>;

constexpr unsigned transformer = 1, mlp = 2, layers = 4, all = 7;

template <class Field>
Key<ModelSpec> field(const char* name, unsigned kinds, Field member) {
  return key<ModelSpec>(name, kinds, member);
}

/// Left out when it is 0, or false.
template <class Field>
Key<ModelSpec> unless_zero(const char* name, unsigned kinds, Field member) {
  Key<ModelSpec> made = key<ModelSpec>(name, kinds, member);
  made.write = [member](const ModelSpec& spec) {
    return member(spec) ? write_value(member(spec)) : std::string();
  };
  return made;
}

/// A formula in N, or "auto".
template <class Field>
Key<ModelSpec> scale(const char* name, Field member) {
  return {name, all,
          [member](ModelSpec& spec, const TomlEntry& entry) {
            const auto* text = std::get_if<std::string>(&entry.value);
            if (text != nullptr && *text == "auto")
              member(spec).reset();
            else
              member(spec) = formula_of(entry, {"N"});
          },
          [member](const ModelSpec& spec) {
            return member(spec) ? write_value(*member(spec)) : quoted("auto");
          }};
}

Key<ModelSpec> kind_key() {
  return {"kind", all, [](ModelSpec&, const TomlEntry&) {},
          [](const ModelSpec& spec) { return quoted(to_string(spec.kind)); }};
}

const Keys& model_keys() {
  static const Keys keys = {
      kind_key(),
      field(
          "layers", all, [](auto& s) -> auto& { return s.layers; }),
      field(
          "width", transformer | mlp, [](auto& s) -> auto& { return s.width; }),
      field(
          "heads", transformer, [](auto& s) -> auto& { return s.heads; }),
      unless_zero(
          "kv_heads", transformer, [](auto& s) -> auto& { return s.kv_heads; }),
      field(
          "ffn", transformer, [](auto& s) -> auto& { return s.ffn; }),
      field(
          "vocab", transformer, [](auto& s) -> auto& { return s.vocab; }),
      field(
          "features", mlp | layers, [](auto& s) -> auto& { return s.features; }),
      unless_zero(
          "classes", mlp | layers, [](auto& s) -> auto& { return s.vocab; }),
      field(
          "sequence", all, [](auto& s) -> auto& { return s.sequence; }),
      unless_zero(
          "height", layers, [](auto& s) -> auto& { return s.height; }),
      field(
          "batch", all, [](auto& s) -> auto& { return s.batch; }),
      field(
          "causal", transformer, [](auto& s) -> auto& { return s.causal; }),
      field(
          "activation", all, [](auto& s) -> auto& { return s.activation; }),
      field(
          "gated", transformer, [](auto& s) -> auto& { return s.gated; }),
      field(
          "qk_norm", transformer, [](auto& s) -> auto& { return s.qk_norm; }),
      unless_zero(
          "residual_attention", transformer, [](auto& s) -> auto& { return s.residual_attention; }),
      field(
          "cross_attention", transformer, [](auto& s) -> auto& { return s.cross_attention; }),
      field(
          "bias", all, [](auto& s) -> auto& { return s.bias; }),
      field(
          "ntk", all, [](auto& s) -> auto& { return s.ntk; }),
      field(
          "norm_affine", all, [](auto& s) -> auto& { return s.norm_affine; }),
      field(
          "norm", all, [](auto& s) -> auto& { return s.norm; }),
      field(
          "norm_eps", all, [](auto& s) -> auto& { return s.norm_eps; }),
      field(
          "placement", transformer | mlp, [](auto& s) -> auto& { return s.placement; }),
      field(
          "ramp", transformer | mlp, [](auto& s) -> auto& { return s.ramp; }),
      scale(
          "alpha", [](auto& s) -> auto& { return s.alpha; }),
      scale(
          "lambda", [](auto& s) -> auto& { return s.lambda; }),
      formula_key<ModelSpec>("attention_scale", transformer | layers,
                             [](auto& s) -> auto& { return s.attention_scale; },
                             {"N", "width", "head_width"}),
      field(
          "dropout", transformer | mlp, [](auto& s) -> auto& { return s.dropout; }),
      field(
          "dropout_place", transformer | mlp, [](auto& s) -> auto& { return s.dropout_place; }),
      field(
          "attention_dropout", transformer, [](auto& s) -> auto& { return s.attention_dropout; }),
      field(
          "optimizer", all, [](auto& s) -> auto& { return s.optimizer; }),
  };
  return keys;
}

const Keys& input_keys() {
  static const Keys keys = {
      field(
          "kind", all, [](auto& s) -> auto& { return s.input.kind; }),
      field(
          "second", all, [](auto& s) -> auto& { return s.input.second; }),
      field(
          "cross", all, [](auto& s) -> auto& { return s.input.cross; }),
      field(
          "zipf", transformer | layers, [](auto& s) -> auto& { return s.input.zipf; }),
      field(
          "positions", transformer | layers, [](auto& s) -> auto& { return s.input.positions; }),
  };
  return keys;
}

const Keys& memory_keys() {
  static const Keys keys = {
      field(
          "sequence", all, [](auto& s) -> auto& { return s.memory.sequence; }),
      field(
          "second", all, [](auto& s) -> auto& { return s.memory.second; }),
      field(
          "cross", all, [](auto& s) -> auto& { return s.memory.cross; }),
  };
  return keys;
}

const Keys& loss_keys() {
  static const Keys keys = {
      field(
          "kind", all, [](auto& s) -> auto& { return s.loss; }),
      field(
          "target_second", all, [](auto& s) -> auto& { return s.target_second; }),
      field(
          "reduction", all, [](auto& s) -> auto& { return s.reduction; }),
  };
  return keys;
}

}  // namespace

unsigned kind_bit(Kind kind) {
  switch (kind) {
    case Kind::transformer: return transformer;
    case Kind::mlp: return mlp;
    case Kind::layers: break;
  }
  return layers;
}

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = {"transformer", "mlp", "layers"};
  return names;
}

std::string to_string(Kind kind) {
  return kind_names()[static_cast<std::size_t>(kind)];
}

Kind kind_from(const TomlEntry& entry) {
  for (const Kind kind : {Kind::transformer, Kind::mlp, Kind::layers})
    if (to_string(kind) == text_of(entry)) return kind;
  throw unknown_name("kind", text_of(entry), kind_names(), entry.where);
}

const std::vector<Section>& plain_sections() {
  static const std::vector<Section> sections = {{"model", all, model_keys},
                                                {"input", all, input_keys},
                                                {"memory", transformer | layers, memory_keys},
                                                {"loss", all, loss_keys}};
  return sections;
}

}  // namespace scalecalc
