#include "cli/transfer/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/split.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"

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

std::optional<double> own_size(const ModelSpec& spec, GrowthAxis axis) {
  switch (axis) {
    case GrowthAxis::width: return static_cast<double>(spec.width);
    case GrowthAxis::depth: return static_cast<double>(spec.layers);
    case GrowthAxis::heads: return static_cast<double>(spec.heads);
    case GrowthAxis::batch: return static_cast<double>(spec.batch);
    case GrowthAxis::tokens:
    case GrowthAxis::experts: break;
  }
  return {};
}

std::int64_t scaled(std::int64_t size, double ratio, const char* what) {
  const double value = static_cast<double>(size) * ratio;
  if (std::abs(value - std::round(value)) > 1e-9 * value)
    throw Error(ErrorKind::input,
                fmt::format("the model's {} of {} would become {}", what, size,
                            report::format_number(value)),
                "--from, --to", "choose sizes that keep it an integer");
  return std::llround(value);
}

/// Lays the model out at these sizes, at which it must be valid.
void check_model(const ModelSpec& spec, const SizeList& sizes) {
  ModelSpec sized = spec;
  if (const double* width = find(sizes, GrowthAxis::width);
      width && spec.kind != ModelSpec::Kind::layers) {
    const double ratio = *width / static_cast<double>(spec.width);
    sized.width = std::llround(*width);
    if (spec.kind == ModelSpec::Kind::transformer) {
      sized.ffn = scaled(spec.ffn, ratio, "ffn");
      sized.expert_ffn = scaled(spec.expert_ffn, ratio, "expert_ffn");
      sized.shared_ffn = scaled(spec.shared_ffn, ratio, "shared_ffn");
      sized.head_width = scaled(spec.head_width, ratio, "head_width");
    }
  }
  if (const double* heads = find(sizes, GrowthAxis::heads)) {
    sized.heads = std::llround(*heads);
    sized.kv_heads = scaled(spec.kv_heads, *heads / static_cast<double>(spec.heads), "kv_heads");
  }
  if (const double* layers = find(sizes, GrowthAxis::depth)) sized.layers = std::llround(*layers);
  validate(sized, "--from, --to");
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
    const std::string name = option + " " + part.substr(0, equals);
    if (find(sizes, axis))
      throw Error(ErrorKind::input, option + " names the " + to_string(axis) + " twice",
                  "got '" + base::shortened(text) + "'", "give each size once");
    const std::string value = part.substr(equals + 1);
    const double size =
        axis == GrowthAxis::tokens
            ? parse_number(name, value, 1, largest, "1e9")
            : static_cast<double>(parse_integer(name, value, 1, std::int64_t{1} << 40U, "256"));
    sizes.emplace_back(axis, size);
  }
  return sizes;
}

TransferSizes sizes_between(const SizeList& from, const SizeList& to,
                            const std::optional<ModelSpec>& spec) {
  TransferSizes sizes;
  for (const auto& [axis, target] : to) {
    const double* named = find(from, axis);
    std::optional<double> start;
    if (named) start = *named;
    if (!start && spec) start = own_size(*spec, axis);
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
    check_model(*spec, sizes.from);
    check_model(*spec, sizes.to);
  }
  return sizes;
}

}  // namespace scalecalc::cli
