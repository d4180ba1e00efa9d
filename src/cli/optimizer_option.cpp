#include "cli/optimizer_option.hpp"

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

}  // namespace scalecalc::cli
