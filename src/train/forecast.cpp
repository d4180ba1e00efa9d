#include <fmt/format.h>

#include <cmath>

#include "scalecalc/train.hpp"
#include "train/bounds.hpp"

namespace scalecalc {

TrainForecast forecast(const TrainPrediction& prediction, std::int64_t vocab) {
  using train_room::kLargestNorm, train_room::kSmallestNorm;
  if (!prediction.why_none.empty()) {
    return {false, "the moments leave the range of the rules: " + prediction.why_none};
  }
  if (!(prediction.gradient.total <= kLargestNorm)) {
    return {false, fmt::format("a gradient of norm {:.3g} is past {:g}", prediction.gradient.total,
                               kLargestNorm)};
  }
  const std::optional<std::size_t> block = train_room::vanishing_block(prediction.gradient);
  if (block) {
    return {false, fmt::format("the gradient of {} is {:.3g}, below {:g}",
                               prediction.gradient.layers[*block],
                               prediction.gradient.norms[*block], kSmallestNorm)};
  }
  const double loss = std::log(static_cast<double>(vocab));
  if (!(std::fabs(prediction.loss_change) <= loss)) {
    return {false, fmt::format("one step changes the loss by {:.3g} to first order, more than the "
                               "{:.3g} of a guess",
                               std::fabs(prediction.loss_change), loss)};
  }
  return {true, "gradients are healthy, and one step takes less than the loss"};
}

}  // namespace scalecalc
