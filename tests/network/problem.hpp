#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "scalecalc/network.hpp"

/// What validate() says of a spec that is changed.
namespace scalecalc::testing {

using Change = std::function<void(ModelSpec&)>;

inline std::string problem(const Change& change,
                           ModelSpec::Kind kind = ModelSpec::Kind::transformer) {
  ModelSpec spec = default_spec(kind);
  change(spec);
  try {
    validate(spec);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK_FALSE(error.hint().empty());
    return error.message();
  }
  return "";
}

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace scalecalc::testing
