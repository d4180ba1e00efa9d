#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "scalecalc/tuning.hpp"
#include "train/predicted_rate.hpp"

namespace scalecalc {
namespace {

constexpr char kRate[] = "lr";
constexpr std::size_t kLeastRates = 3;

double rate_of(const GridPoint& point) {
  const auto found = std::ranges::find(point.values, kRate, &std::pair<std::string, double>::first);
  return found == point.values.end() ? std::nan("") : found->second;
}

/// At each rate the point of the least mean loss. Empty of a grid without rates.
std::vector<CurvePoint> curve_of(const BestOfGrid& cell) {
  std::map<double, CurvePoint> best;
  for (const GridPoint& point : cell.points) {
    const double rate = rate_of(point);
    if (std::isnan(rate)) return {};
    const CurvePoint here{rate, point.losses};
    const auto [found, is_new] = best.emplace(rate, here);
    if (!is_new && here.mean() < found->second.mean()) found->second = here;
  }
  std::vector<CurvePoint> curve;
  for (const auto& [rate, point] : best) curve.push_back(point);
  return curve;
}

}  // namespace

std::vector<BestRateLaw> best_rate_laws(
    const std::vector<BestOfGrid>& cells, const OptimizerOptions& optimizer,
    const std::function<ModelSpec(const std::string& group, std::int64_t layers)>& model) {
  std::vector<BestRateLaw> laws;
  for (const BestOfGrid& cell : cells) {
    const std::vector<CurvePoint> curve = curve_of(cell);
    if (curve.size() < kLeastRates) continue;
    auto law = std::ranges::find(laws, cell.group, &BestRateLaw::group);
    if (law == laws.end()) law = laws.insert(laws.end(), {cell.group, {}, {}, {}});
    law->depths.push_back({cell.layers, curve_optimum(curve)});
  }
  std::erase_if(laws, [](const BestRateLaw& law) { return law.depths.size() < 2; });
  for (BestRateLaw& law : laws) {
    std::ranges::sort(law.depths, {}, &BestRateLaw::AtDepth::layers);
    std::vector<double> sizes;
    std::vector<CurveOptimum> optima;
    for (const BestRateLaw::AtDepth& depth : law.depths) {
      sizes.push_back(static_cast<double>(depth.layers));
      optima.push_back(depth.optimum);
    }
    law.law = optimum_law(sizes, optima);
    const std::int64_t from = law.depths.front().layers, to = law.depths.back().layers;
    law.prediction =
        train_room::own_rate(model(law.group, from), model(law.group, to), GrowthAxis::depth,
                             sizes.back() / sizes.front(), optimizer);
  }
  return laws;
}

}  // namespace scalecalc
