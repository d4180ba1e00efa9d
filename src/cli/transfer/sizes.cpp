#include "cli/transfer/sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/split.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"
#include "scalecalc/resize.hpp"

namespace scalecalc::cli {
namespace {

constexpr double largest = 1e18;

GrowthAxis size_axis(const std::string& name, const std::string& option) {
  if (name == "layers") return GrowthAxis::depth;
  std::vector<std::string> known = growth_axis_names();
  known.insert(known.begin() + 1, "layers");
  if (std::ranges::find(known, name) == known.end())
    throw unknown_name("size", name, known, option);
  return growth_axis_from(name, option);
}

const double* find(const SizeList& sizes, GrowthAxis axis) {
  const auto found =
      std::ranges::find_if(sizes, [&](const auto& size) { return size.first == axis; });
  return found == sizes.end() ? nullptr : &found->second;
}

/// Calls found(size) for each layer's own number of that axis.
template <class Found>
void each_size(const std::vector<LayerSpec>& layers, GrowthAxis axis, bool last_is_head,
               const Found& found) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerSpec& layer = layers[i];
    const bool is_head = last_is_head && i + 1 == layers.size();
    if (axis == GrowthAxis::width && !is_head && layer.width > 0) found(layer.width);
    if (axis == GrowthAxis::heads && layer.type == LayerSpec::Type::attention) found(layer.heads);
    each_size(layer.layers, axis, false, found);
    each_size(layer.shortcut, axis, false, found);
  }
}

std::vector<std::int64_t> listed_sizes(const ModelSpec& spec, GrowthAxis axis) {
  std::vector<std::int64_t> sizes;
  each_size(spec.layer_list, axis, spec.vocab == 0,
            [&](std::int64_t size) { sizes.push_back(size); });
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  return sizes;
}

/// Of a list: where its layers have several, that of `named` which is one of them.
std::int64_t listed_size(const ModelSpec& spec, GrowthAxis axis, const double* named) {
  const std::vector<std::int64_t> sizes = listed_sizes(spec, axis);
  if (sizes.size() == 1) return sizes.front();
  if (sizes.empty())
    throw Error(ErrorKind::input,
                std::string("no layer of the model has ") +
                    (axis == GrowthAxis::width ? "a width" : "heads"),
                "--to " + to_string(axis), "leave it out");
  for (const std::int64_t size : sizes)
    if (named && *named == static_cast<double>(size)) return size;
  throw Error(
      ErrorKind::input,
      fmt::format("the layers of the model have the {} {}",
                  axis == GrowthAxis::width ? "widths" : "heads", fmt::join(sizes, ", ")),
      "--from",
      fmt::format("name one of them, for example --from {}={}", to_string(axis), sizes.front()));
}

/// As the model has it; `named` is what --from names.
std::optional<double> own_size(const ModelSpec& spec, GrowthAxis axis, const double* named) {
  const bool is_list = spec.kind == ModelSpec::Kind::layers;
  switch (axis) {
    case GrowthAxis::width:
    case GrowthAxis::heads: {
      if (is_list) return static_cast<double>(listed_size(spec, axis, named));
      return static_cast<double>(axis == GrowthAxis::width ? spec.width : spec.heads);
    }
    case GrowthAxis::depth: return static_cast<double>(spec.layers);
    case GrowthAxis::batch: return static_cast<double>(spec.batch);
    case GrowthAxis::experts:
      if (spec.experts > 0) return static_cast<double>(spec.experts);
      break;
    case GrowthAxis::tokens: break;
  }
  return {};
}

void scale_heads(std::vector<LayerSpec>& layers, double ratio, const std::string& option) {
  for (LayerSpec& layer : layers) {
    if (layer.type == LayerSpec::Type::attention) {
      layer.heads = scaled_size(layer.heads, ratio, "heads", option);
      layer.kv_heads = scaled_size(layer.kv_heads, ratio, "kv_heads", option);
    }
    scale_heads(layer.layers, ratio, option);
  }
}

/// The model with sizes for its own, of the same axes.
ModelSpec model_at(const ModelSpec& spec, const SizeList& own, const SizeList& sizes,
                   const std::string& option) {
  ModelSpec sized = spec;
  const auto ratio = [&](GrowthAxis axis, double size) { return size / *find(own, axis); };
  for (const auto& [axis, size] : sizes) {
    switch (axis) {
      case GrowthAxis::width: scale_width(sized, ratio(axis, size), option); break;
      case GrowthAxis::heads:
        if (spec.kind == ModelSpec::Kind::layers) {
          scale_heads(sized.layer_list, ratio(axis, size), option);
        } else {
          sized.kv_heads = scaled_size(spec.kv_heads, ratio(axis, size), "kv_heads", option);
          sized.heads = std::llround(size);
        }
        break;
      case GrowthAxis::depth: sized.layers = std::llround(size); break;
      case GrowthAxis::experts: sized.experts = std::llround(size); break;
      case GrowthAxis::batch: sized.batch = std::llround(size); break;
      case GrowthAxis::tokens: break;
    }
  }
  validate(sized, option);
  return sized;
}

/// A size as it stands behind NAME=.
double size_of(const std::string& option, const std::string& name, const std::string& value,
               GrowthAxis axis) {
  const bool is_tokens = axis == GrowthAxis::tokens;
  try {
    return is_tokens
               ? parse_number(name, value, 1, largest, "1e9")
               : static_cast<double>(parse_integer(name, value, 1, std::int64_t{1} << 40U, "256"));
  } catch (const Error& error) {
    throw Error(error.kind(), option + " " + error.message(), error.where(),
                "for example " + option + " " + name + (is_tokens ? "=1e9" : "=256"));
  }
}

}  // namespace

SizeList parse_sizes(const std::string& option, const std::string& text) {
  SizeList sizes;
  for (const std::string& part : base::split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw Error(ErrorKind::input, option + " takes sizes as NAME=VALUE with commas between them",
                  "got '" + base::shortened(text) + "'",
                  "for example " + option + " width=256,layers=4");
    const GrowthAxis axis = size_axis(part.substr(0, equals), option);
    const std::string name = part.substr(0, equals);
    if (find(sizes, axis))
      throw Error(ErrorKind::input, option + " names the " + to_string(axis) + " twice",
                  "got '" + base::shortened(text) + "'", "give each size once");
    sizes.emplace_back(axis, size_of(option, name, part.substr(equals + 1), axis));
  }
  return sizes;
}

TransferSizes sizes_between(const SizeList& from, const SizeList& to,
                            const std::optional<ModelSpec>& spec, const std::string& option,
                            bool model_is_target) {
  TransferSizes sizes;
  SizeList owned;
  for (const auto& [axis, target] : to) {
    const double* named = find(from, axis);
    std::optional<double> start;
    if (named) start = *named;
    const std::optional<double> own =
        spec ? own_size(*spec, axis, model_is_target ? &target : named) : std::optional<double>();
    if (own) owned.emplace_back(axis, *own);
    if (!start) start = own;
    if (!start)
      throw Error(ErrorKind::input, "--to names the " + to_string(axis) + ", and --from does not",
                  "--to", "give the " + to_string(axis) + " of the base in --from");
    sizes.from.emplace_back(axis, *start);
    sizes.to.emplace_back(axis, target);
    sizes.ratios[static_cast<std::size_t>(axis)] = target / *start;
  }
  for (const auto& [axis, size] : from)
    if (!find(to, axis))
      throw Error(ErrorKind::input, "--from names the " + to_string(axis) + ", and --to does not",
                  "--from", "give the " + to_string(axis) + " of the target in --to");
  if (spec) {
    sizes.base = model_at(*spec, owned, sizes.from, option);
    model_at(*spec, owned, sizes.to, option);
  }
  return sizes;
}

std::vector<GrowthAxis> axes_of(const TransferSizes& sizes) {
  std::vector<GrowthAxis> axes;
  for (const auto& [axis, size] : sizes.to) axes.push_back(axis);
  std::ranges::sort(axes);
  return axes;
}

TransferSizes sizes_from(const std::string& option, const SizeList& from, const ModelSpec& spec) {
  SizeList own;
  for (const auto& [axis, size] : from) {
    // Of several widths the least is the model's, so that the base is named by its own least.
    const bool is_listed = spec.kind == ModelSpec::Kind::layers &&
                           (axis == GrowthAxis::width || axis == GrowthAxis::heads);
    const std::vector<std::int64_t> listed =
        is_listed ? listed_sizes(spec, axis) : std::vector<std::int64_t>();
    const auto least = listed.empty() ? 0.0 : static_cast<double>(listed.front());
    const std::optional<double> size_here = own_size(spec, axis, listed.empty() ? nullptr : &least);
    if (!size_here)
      throw Error(ErrorKind::input, "the model has no number of " + to_string(axis), option,
                  "leave it out");
    own.emplace_back(axis, *size_here);
  }
  return sizes_between(from, own, spec, option, true);
}

}  // namespace scalecalc::cli
