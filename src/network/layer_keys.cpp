#include <fmt/format.h>

#include <algorithm>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"
#include "network/model_keys.hpp"

namespace scalecalc {
namespace {

using Type = LayerSpec::Type;

constexpr unsigned bit(Type type) {
  return 1U << static_cast<unsigned>(type);
}

/// Of each kind its own, behind type and name, which all have.
const std::vector<LayerKey>& keys() {
  static const std::vector<LayerKey> list = [] {
    std::vector<LayerKey> all = {
        {"type", ~0U, [](LayerSpec&, const TomlEntry&) {},
         [](const LayerSpec& layer) { return quoted(to_string(layer.type)); }},
        layer_key("name", &LayerSpec::name)};
    all.back().kinds = ~0U;
    for_each_kind([&](Type type, const LayerKind& kind) {
      if (kind.keys == nullptr) return;
      for (LayerKey& key : kind.keys()) {
        key.kinds = bit(type);
        all.push_back(std::move(key));
      }
    });
    return all;
  }();
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
  for (const TomlEntry& entry : element.entries)
    if (entry.key == "kind")
      throw Error(ErrorKind::input, "a layer without its type", entry.where,
                  "did you mean 'type'? [model] has a kind, [[layer]] a type");
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
    const LayerKey& key = find_key(keys(), bit(layer.type), kind, entry);
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
  for (const LayerKey& key : keys()) {
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
