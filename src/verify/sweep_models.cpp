#include "verify/sweep_models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scalecalc/resize.hpp"
#include "verify/statistics.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t max_layers = 1000000, max_width = 1000000000;

void check_sizes(const char* name, const std::vector<std::int64_t>& sizes, std::int64_t most) {
  for (const std::int64_t size : sizes)
    if (size < 1 || size > most)
      throw Error(ErrorKind::input,
                  fmt::format("{} must be from 1 to {}, got {}", name, most, size), "sweep",
                  fmt::format("use 1 to {}", most));
}

std::vector<std::int64_t> rising(std::vector<std::int64_t> sizes) {
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  return sizes;
}

}  // namespace

std::vector<ModelSpec> sweep_models(const SweepOptions& options) {
  if (options.layers.empty())
    throw Error(ErrorKind::input, "no depth to measure at", "sweep", "for example 2,8,32");
  check_sizes("layers", options.layers, max_layers);
  check_sizes("width", options.widths, max_width);
  std::vector<ModelSpec> models;
  ModelSpec model = options.model;
  for (const std::int64_t layers : rising(options.layers)) {
    model.layers = layers;
    models.push_back(model);
  }
  if (options.widths.empty()) return models;
  if (models.size() > 1)
    throw Error(ErrorKind::input, "depths and widths are given", "sweep",
                "let one of them grow, at one size of the other");
  if (model.kind == ModelSpec::Kind::layers)
    throw Error(ErrorKind::input, "a list of layers has no one width", "sweep",
                "use a transformer or an mlp, or depths");
  models.clear();
  for (const std::int64_t width : rising(options.widths)) {
    models.push_back(model);
    scale_width(models.back(), static_cast<double>(width) / static_cast<double>(model.width),
                fmt::format("width = {}", width));
  }
  return models;
}

SweepPoint sweep_point(const ModelSpec& model, const SweepOptions& options) {
  SweepPoint point;
  point.layers = model.layers;
  if (!options.widths.empty()) point.width = model.width;
  put_scales(model, point);
  return point;
}

std::string size_text(const SweepPoint& point) {
  return point.width > 0 ? fmt::format("width = {}", point.width)
                         : fmt::format("N = {}", point.layers);
}

double relative_work(const ModelSpec& model, const ModelSpec& first) {
  const double ratio =
      first.width > 0 ? static_cast<double>(model.width) / static_cast<double>(first.width) : 1;
  return static_cast<double>(model.layers) * ratio * ratio;
}

}  // namespace scalecalc
