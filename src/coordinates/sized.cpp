#include "coordinates/sized.hpp"

#include <utility>

namespace scalecalc::coordinates {
namespace {

std::string muon_scale_of(const OptimizerOptions& options) {
  using Scale = OptimizerOptions::MuonScale;
  if (options.name != "muon" || options.muon_scale == Scale::none) return "none";
  return options.muon_scale == Scale::shape ? "shape" : "match_rms";
}

}  // namespace

TransferOptimizer rule_of(const OptimizerOptions& options) {
  const bool alone = options.name == "muon" && options.rest.empty();
  return transfer_optimizer(alone ? "muon+adamw" : optimizer_text(options), muon_scale_of(options));
}

Sized sized(const ModelSpec& base, const ModelSpec& spec, const TransferSolution& solution,
            const std::array<double, growth_axes>& ratios, const OptimizerOptions& optimizer) {
  Sized made{{}, optimizer};
  TransferredNetwork moved = transferred_network(base, spec, solution, ratios);
  for (const auto& [path, factors] : moved.factors)
    made.optimizer.factors.emplace(path, ParameterFactors{factors.lr, factors.decay, factors.eps});
  made.network = std::move(moved.network);
  return made;
}

}  // namespace scalecalc::coordinates
