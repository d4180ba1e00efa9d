#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/report.hpp"
#include "scalecalc/transfer.hpp"

namespace scalecalc::cli {

/// Sizes that --from and --to name, and the ratios between them.
struct TransferSizes {
  std::vector<std::pair<GrowthAxis, double>> from, to;  ///< of the same axes
  std::array<double, growth_axes> ratios = {1, 1, 1, 1, 1, 1};
  std::optional<ModelSpec> base;  ///< the model at the sizes of `from`
};

struct TransferAnswer {
  std::string model;  ///< as it was named; empty: none
  TransferProblem problem;
  TransferSolution solution;
  std::string muon_scale, decay_law;
  std::optional<TransferSizes> sizes;
  std::optional<double> lr, decay, eps;                  ///< at the base
  std::map<std::string, double> base_stds;               ///< of a model, by the tensor's name
  std::vector<std::pair<std::string, std::size_t>> all;  ///< --all: each path and its tensor
  bool explain = false;
};
report::Document transfer_document(const TransferAnswer& answer);

struct SameAnswer {
  std::string model, first, second;
  TransferProblem problem;
  SameParametrization result;
};
report::Document same_document(const SameAnswer& answer);

}  // namespace scalecalc::cli
