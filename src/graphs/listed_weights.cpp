#include "graphs/listed_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace scalecalc::graphs {

void set_biases(const Understood& known, const std::vector<std::size_t>& parts, LayerSpec& spec) {
  std::vector<Figure> found;
  spec.bias = false;
  for (const std::size_t index : parts) {
    const Part& part = known.part(index);
    if (part.bias == nothing) continue;
    spec.bias = true;
    if (const auto figure = known.figures.bias(part)) found.push_back(*figure);
  }
  const auto all = pooled(found);
  if (all && all->std > 0) spec.bias_std = neat(all->std, all->counted);
}

void set_weights(const Understood& known, const Part& part, LayerSpec& spec) {
  const auto figure = known.figures.weight(part);
  if (figure) spec.std = neat(figure->std, figure->counted);
  if (figure && figure->is_uniform && figure->std > 0) spec.distribution = Distribution::uniform;
  spec.bias = part.bias != nothing;
  if (const auto of_bias = known.figures.bias(part))
    if (of_bias->std > 0) spec.bias_std = neat(of_bias->std, of_bias->counted);
}

void share_stds(const Understood& known, LayerSpec& spec,
                const std::vector<std::pair<std::size_t, std::optional<double>*>>& of) {
  std::vector<Figure> found;
  bool is_uniform = true;
  for (const auto& [index, std] : of) {
    const auto figure = known.figures.weight(known.part(index));
    if (!figure) return;
    found.push_back(*figure);
    is_uniform = is_uniform && figure->is_uniform;
  }
  const Figure all = *pooled(found);
  const bool is_one = std::all_of(found.begin(), found.end(), [&](const Figure& one) {
    return std::fabs(one.std - all.std) <=
           4 / std::sqrt(2.0 * static_cast<double>(one.counted)) * all.std;
  });
  if (is_uniform) spec.distribution = Distribution::uniform;
  if (is_one) {
    spec.std = neat(all.std, all.counted);
    return;
  }
  for (std::size_t i = 0; i < of.size(); ++i) *of[i].second = neat(found[i].std, found[i].counted);
}

}  // namespace scalecalc::graphs
