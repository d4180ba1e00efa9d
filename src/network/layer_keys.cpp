#include <fmt/format.h>

#include <algorithm>

#include "network/layer_spec.hpp"
#include "network/model_keys.hpp"

namespace scalecalc {
namespace {

using Type = LayerSpec::Type;

constexpr unsigned bit(Type type) {
  return 1U << static_cast<unsigned>(type);
}
constexpr unsigned all = (1U << (static_cast<unsigned>(Type::pool) + 1)) - 1;
constexpr unsigned weights =
    bit(Type::linear) | bit(Type::conv2d) | bit(Type::gated) | bit(Type::attention);
constexpr unsigned normed = bit(Type::norm) | bit(Type::attention) | bit(Type::residual);

template <class Field>
Key<LayerSpec> field(const char* name, unsigned types, Field member) {
  return key<LayerSpec>(name, types, member);
}
template <class Field>
Key<LayerSpec> formula(const char* name, unsigned types, Field member,
                       std::vector<std::string> symbols) {
  return formula_key<LayerSpec>(name, types, member, std::move(symbols));
}

/// A list of layers inside a layer. Reading needs the nesting, so it is done in read_layer().
Key<LayerSpec> inner(const char* name, unsigned types) {
  return {name, types, nullptr, [](const LayerSpec&) { return std::string(); }};
}

Key<LayerSpec> type_key() {
  return {"type", all, [](LayerSpec&, const TomlEntry&) {},
          [](const LayerSpec& layer) { return quoted(to_string(layer.type)); }};
}

const std::vector<Key<LayerSpec>>& keys() {
  constexpr unsigned attention = bit(Type::attention), conv2d = bit(Type::conv2d);
  constexpr unsigned residual = bit(Type::residual), embedding = bit(Type::embedding);
  constexpr unsigned gated = bit(Type::gated);
  static const std::vector<Key<LayerSpec>> list = {
      type_key(),
      field(
          "name", all, [](auto& l) -> auto& { return l.name; }),
      field(
          "width", bit(Type::linear) | gated | embedding, [](auto& l) -> auto& { return l.width; }),
      field(
          "channels", conv2d, [](auto& l) -> auto& { return l.width; }),
      field(
          "kernel", conv2d, [](auto& l) -> auto& { return l.kernel; }),
      field(
          "stride", conv2d, [](auto& l) -> auto& { return l.stride; }),
      field(
          "padding", conv2d, [](auto& l) -> auto& { return l.padding; }),
      field(
          "groups", conv2d, [](auto& l) -> auto& { return l.groups; }),
      field(
          "activation", bit(Type::activation) | gated,
          [](auto& l) -> auto& { return l.activation; }),
      field(
          "norm", normed, [](auto& l) -> auto& { return l.norm; }),
      field(
          "eps", normed, [](auto& l) -> auto& { return l.eps; }),
      field(
          "affine", normed, [](auto& l) -> auto& { return l.affine; }),
      field(
          "heads", attention, [](auto& l) -> auto& { return l.heads; }),
      field(
          "kv_heads", attention, [](auto& l) -> auto& { return l.kv_heads; }),
      field(
          "causal", attention, [](auto& l) -> auto& { return l.causal; }),
      field(
          "qk_norm", attention, [](auto& l) -> auto& { return l.qk_norm; }),
      field(
          "residual_attention", attention, [](auto& l) -> auto& { return l.residual_attention; }),
      field(
          "memory", attention, [](auto& l) -> auto& { return l.memory; }),
      field(
          "dropout", attention, [](auto& l) -> auto& { return l.dropout; }),
      field(
          "rate", bit(Type::dropout), [](auto& l) -> auto& { return l.dropout; }),
      formula("scale", attention, [](auto& l) -> auto& { return l.scale; },
              {"N", "width", "head_width"}),
      field(
          "bias", weights, [](auto& l) -> auto& { return l.bias; }),
      formula("gain", weights, [](auto& l) -> auto& { return l.gain; }, {"N", "lambda"}),
      field(
          "std", weights | embedding, [](auto& l) -> auto& { return l.std; }),
      field(
          "distribution", weights, [](auto& l) -> auto& { return l.distribution; }),
      field(
          "weight_norm", bit(Type::linear) | conv2d,
          [](auto& l) -> auto& { return l.weight_norm; }),
      formula("skip", residual, [](auto& l) -> auto& { return l.skip; }, {"N", "alpha", "lambda"}),
      formula("branch", residual, [](auto& l) -> auto& { return l.branch; },
              {"N", "alpha", "lambda"}),
      field(
          "trainable", residual, [](auto& l) -> auto& { return l.trainable; }),
      formula("times", bit(Type::repeat), [](auto& l) -> auto& { return l.times; }, {"N"}),
      field(
          "vocab", embedding, [](auto& l) -> auto& { return l.vocab; }),
      inner("layers", residual | bit(Type::repeat)),
      inner("shortcut", residual),
  };
  return list;
}

std::vector<LayerSpec> read_list(const TomlEntry& entry, int nesting) {
  std::vector<LayerSpec> layers;
  for (const TomlElement& element : tables_of(entry))
    layers.push_back(read_layer(element, nesting));
  return layers;
}

Type type_of(const TomlElement& element) {
  for (const TomlEntry& entry : element.entries)
    if (entry.key == "type") return layer_type_from(text_of(entry), entry.where);
  throw Error(ErrorKind::input, "a layer without its type", element.where,
              "for example type = \"linear\"");
}

}  // namespace

LayerSpec read_layer(const TomlElement& element, int nesting) {
  if (nesting > max_nesting)
    throw Error(ErrorKind::input, fmt::format("layers nest at most {} deep", max_nesting),
                element.where, "use repeat for what repeats");
  LayerSpec layer;
  layer.type = type_of(element);
  layer.where = element.where;
  const std::string kind = fmt::format("type = \"{}\"", to_string(layer.type));
  for (const TomlEntry& entry : element.entries) {
    const Key<LayerSpec>& key = find_key(keys(), bit(layer.type), kind, entry);
    if (entry.key == "layers")
      layer.layers = read_list(entry, nesting + 1);
    else if (entry.key == "shortcut")
      layer.shortcut = read_list(entry, nesting + 1);
    else
      key.read(layer, entry);
  }
  return layer;
}

std::string write_layer(const LayerSpec& layer, const std::string& heading) {
  std::string text = fmt::format("\n[[{}]]\n", heading);
  LayerSpec plain;
  plain.type = layer.type;
  for (const Key<LayerSpec>& key : keys()) {
    if ((key.kinds & bit(layer.type)) == 0) continue;
    const std::string value = key.write(layer);
    if (!value.empty() && (key.name == "type" || value != key.write(plain)))
      text += key.name + " = " + value + "\n";
  }
  for (const LayerSpec& below : layer.layers) text += write_layer(below, heading + ".layers");
  for (const LayerSpec& below : layer.shortcut) text += write_layer(below, heading + ".shortcut");
  return text;
}

}  // namespace scalecalc
