#include "cli/optimizer_option.hpp"

#include <algorithm>

#include "scalecalc/error.hpp"

namespace scalecalc::cli {

OptimizerOptions read_optimizer(const std::string& option, const std::string& text) {
  try {
    return optimizer_options(text);
  } catch (const Error& error) {
    constexpr std::string_view place = "optimizer";  // and the text, of a mixture
    std::string where = error.where();
    if (where.starts_with(place)) where.replace(0, place.size(), option);
    throw Error(error.kind(), error.message(), where, error.hint());
  }
}

void validate_training(const OptimizerOptions& optimizer) {
  validate(optimizer);
  const bool moves = std::ranges::any_of(
      optimizer.rest, [](const OptimizerOptions& of) { return of.learning_rate > 0; });
  if (optimizer.learning_rate > 0 || moves) return;
  throw Error(ErrorKind::usage, "a learning rate of 0 trains nothing", "--learning-rate",
              "for example --learning-rate 5e-4");
}

}  // namespace scalecalc::cli
