#include "train/predicted_rate.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "coordinates/sized.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::train_room {

TuningPrediction largest_stable_rate(GrowthAxis axis, const TransferSolution& solution) {
  TuningPrediction made{axis, {}, {}};
  std::vector<std::string> binding;
  for (const TensorTransfer& tensor : solution.tensors) {
    const Rational& power = tensor.lr[axis];
    if (made.exponent && *made.exponent < power) continue;
    if (!made.exponent || power < *made.exponent) binding.clear();
    made.exponent = power;
    binding.push_back(tensor.tensor.name);
  }
  if (binding.empty()) return made;
  made.because = "the largest stable rate of " + binding.front();
  if (binding.size() > 1) made.because += fmt::format(" and {} more", binding.size() - 1);
  return made;
}

TuningPrediction own_rate(const ModelSpec& small, const ModelSpec& large, GrowthAxis axis,
                          double ratio, const OptimizerOptions& optimizer) {
  try {
    TransferProblem own;
    own.optimizer = coordinates::rule_of(optimizer);
    own.axes = {axis};
    own.model = transfer_model(small, own.axes);
    own.parametrization = own_parametrization(small, large, ratio, axis, own.model);
    for (auto& [name, numbers] : own.parametrization.tensors)
      numbers.lr = numbers.decay = numbers.eps = std::nullopt;
    return largest_stable_rate(axis, solve_transfer(own));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return {axis, {}, error.message()};
  }
}

}  // namespace scalecalc::train_room
