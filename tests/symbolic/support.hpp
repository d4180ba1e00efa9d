#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/symbolic.hpp"

namespace scalecalc {

inline doctest::String toString(const Expr& expr) {
  return to_string(expr).c_str();
}
inline doctest::String toString(const Rational& value) {
  return value.to_string().c_str();
}

namespace testing {

/// x, y and z are real; every other symbol is positive.
inline ParseOptions options() {
  ParseOptions result;
  result.assumptions = {{"x", Assumption::real}, {"y", Assumption::real}, {"z", Assumption::real}};
  return result;
}

inline Expr formula(std::string_view text) {
  return parse(text, options());
}
inline std::string written(std::string_view text) {
  return to_string(formula(text));
}

/// The message of the Error that `run` throws; empty when it throws none.
template <class Run>
std::string message_of(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace testing
}  // namespace scalecalc
