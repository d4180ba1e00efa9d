#include "network/layer_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "network/layers/kinds.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Type = LayerSpec::Type;

constexpr std::int64_t max_size = 1000000;
constexpr std::size_t max_name = 64;

/// Parts of paths that the layers themselves give.
bool is_reserved(const std::string& name) {
  bool found = name == "input" || name == "final_norm" || name == "act";
  for_each_kind([&](Type, const LayerKind& kind) {
    found |= name == kind.name ||
             std::find(kind.parts.begin(), kind.parts.end(), name) != kind.parts.end();
  });
  return found;
}

bool is_name(const std::string& name) {
  if (name.size() > max_name || (std::isdigit(static_cast<unsigned char>(name[0])) != 0))
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

void check_names(const std::vector<LayerSpec>& layers, const std::string& prefix) {
  std::set<std::string> seen;
  for (const LayerSpec& layer : layers) {
    if (layer.name.empty()) continue;
    const std::string path = prefix + base::shortened(layer.name);
    if (!is_name(layer.name))
      throw layer_error(layer, path,
                        fmt::format("a name is letters, digits and _, at most {}", max_name),
                        "for example name = \"conv1\"");
    if (is_reserved(layer.name))
      throw layer_error(layer, path, "this name belongs to a part of other layers",
                        "use another, for example " + layer.name + "_1");
    if (!seen.insert(layer.name).second)
      throw layer_error(layer, path, "two layers of one list have this name", "rename one");
  }
}

struct Range {
  const char* field;
  std::int64_t value, least;
};

void check_sizes(const LayerSpec& layer, const std::string& path) {
  for (const Range& range :
       {Range{"width", layer.width, 0}, Range{"heads", layer.heads, 1},
        Range{"kv_heads", layer.kv_heads, 0}, Range{"head_width", layer.head_width, 0},
        Range{"kernel", layer.kernel, 1}, Range{"stride", layer.stride, 1},
        Range{"padding", layer.padding, 0}, Range{"groups", layer.groups, 1},
        Range{"output_padding", layer.output_padding, 0}, Range{"vocab", layer.vocab, 0}})
    if (range.value < range.least || range.value > max_size)
      throw layer_error(
          layer, path,
          fmt::format("{} must be from {} to {}, got {}", range.field, range.least, max_size,
                      range.value),
          fmt::format("for example {} = {}", range.field, std::max<std::int64_t>(range.least, 1)));
}

void check_values(const LayerSpec& layer, const std::string& path) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const auto& [field, value] : {std::pair{"std", layer.std.value_or(0)},
                                     {"eps", layer.eps.value_or(0)},
                                     {"bias_std", layer.bias_std.value_or(0)},
                                     {"q_std", layer.q_std.value_or(0)},
                                     {"k_std", layer.k_std.value_or(0)},
                                     {"v_std", layer.v_std.value_or(0)},
                                     {"o_std", layer.o_std.value_or(0)},
                                     {"gate_std", layer.gate_std.value_or(0)},
                                     {"in_std", layer.in_std.value_or(0)}})
    if (!(value >= 0 && value < inf))
      throw layer_error(layer, path,
                        fmt::format("{} must be finite and not negative, got {}", field, value),
                        fmt::format("for example {} = 0.02", field));
  if (layer.activation.empty()) return;
  try {
    check_activation(layer.activation);
  } catch (const Error& error) {
    throw layer_error(layer, path, error.message(), error.hint());
  }
}

void check_formula(const LayerSpec& layer, const std::string& path, const char* field,
                   const Expr& formula, const Bindings& values, bool is_scale) {
  double value = std::numeric_limits<double>::quiet_NaN();
  try {
    value = formula_value(formula, values, field);
  } catch (const Error& error) {
    throw layer_error(layer, path, error.message(), error.hint());
  }
  if (std::fabs(value) <= largest_number && (!is_scale || value >= 0)) return;
  throw layer_error(
      layer, path,
      std::isfinite(value) && value > 0
          ? fmt::format("{} must be at most {:g}, got {}", field, largest_number, value)
          : fmt::format("{} must be finite{}, got {}", field, is_scale ? " and not negative" : "",
                        value),
      fmt::format("for example {} = 1", field));
}

/// `is_branch`: the layers of a residual.
void check_list(const std::vector<LayerSpec>& layers, const std::string& prefix,
                const ModelSpec& model, const Bindings& values, int nesting,
                bool is_branch = false);

void check_layer(const LayerSpec& layer, const std::string& path, const ModelSpec& model,
                 const Bindings& values, int nesting) {
  check_sizes(layer, path);
  if (const auto check = find_kind(layer.type)->check) check(layer, path, model);
  check_values(layer, path);
  check_formula(layer, path, "skip", layer.skip, values, false);
  check_formula(layer, path, "branch", layer.branch, values, false);
  if (layer.gain) check_formula(layer, path, "gain", *layer.gain, values, true);
  check_list(layer.layers, path + ".", model, values, nesting + 1, layer.type == Type::residual);
  check_list(layer.shortcut, path + ".shortcut.", model, values, nesting + 1);
}

void check_list(const std::vector<LayerSpec>& layers, const std::string& prefix,
                const ModelSpec& model, const Bindings& values, int nesting, bool is_branch) {
  if (layers.empty()) return;
  if (nesting > max_nesting)
    throw layer_error(layers.front(), prefix + to_string(layers.front().type),
                      fmt::format("layers nest at most {} deep", max_nesting),
                      "use repeat for what repeats");
  check_names(layers, prefix);
  const std::vector<std::string> names = path_names(layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string path = prefix + names[i];
    if (layers[i].per_sample && !(is_branch && i + 1 == layers.size()))
      throw layer_error(layers[i], path, "whole samples are dropped at the end of a branch alone",
                        "put it last among a residual's layers, or leave per_sample out");
    check_layer(layers[i], path, model, values, nesting);
  }
}

}  // namespace

std::string to_string(Type type) {
  const LayerKind* kind = find_kind(type);
  return kind == nullptr ? "" : kind->name;
}

const std::vector<std::string>& layer_type_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for_each_kind([&](Type, const LayerKind& kind) { list.emplace_back(kind.name); });
    return list;
  }();
  return names;
}

Type layer_type_from(const std::string& name, const std::string& where) {
  std::optional<Type> named;
  for_each_kind([&](Type type, const LayerKind& kind) {
    if (name == kind.name) named = type;
  });
  if (!named) throw unknown_name("layer type", name, layer_type_names(), where);
  return *named;
}

std::vector<std::string> path_names(const std::vector<LayerSpec>& layers) {
  std::map<Type, int> counts;
  std::vector<std::string> names;
  for (const LayerSpec& layer : layers) {
    const int index = counts[layer.type]++;
    names.push_back(layer.name.empty() ? fmt::format("{}[{}]", to_string(layer.type), index)
                                       : layer.name);
  }
  return names;
}

Error layer_error(const LayerSpec& layer, const std::string& path, const std::string& what,
                  const std::string& hint) {
  return {ErrorKind::input, fmt::format("[{}] {}: {}", to_string(layer.type), path, what),
          layer.where, hint};
}

Error missing_key(const LayerSpec& layer, const std::string& path, const char* key,
                  const char* example) {
  return layer_error(layer, path, fmt::format("{} is missing", key),
                     fmt::format("for example {} = {}", key, example));
}

void check_layer_specs(const ModelSpec& spec) {
  Bindings values = size_bindings(spec);
  values["alpha"] = spec.alpha ? formula_value(*spec.alpha, values, "alpha") : 1;
  values["lambda"] = spec.lambda ? formula_value(*spec.lambda, values, "lambda") : 1;
  check_list(spec.layer_list, "", spec, values, 1);
}

}  // namespace scalecalc
