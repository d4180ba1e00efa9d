#include "base/confidence.hpp"

#include <fmt/format.h>

#include "scalecalc/error.hpp"

namespace scalecalc::base {

void check_confidence(double confidence, const std::string& where) {
  if (confidence >= least_confidence && confidence <= most_confidence) return;
  throw Error(ErrorKind::input,
              fmt::format("the confidence must be from {} to 1 - 1e-9, got {}", least_confidence,
                          confidence),
              where, "for example 0.99");
}

}  // namespace scalecalc::base
