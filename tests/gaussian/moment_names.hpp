#pragma once

#include <doctest/doctest.h>

#include <string>

#include "scalecalc/gaussian.hpp"

/// The moment that a reference table names.
inline scalecalc::Moment moment_of(const std::string& name) {
  for (scalecalc::Moment moment : scalecalc::all_moments()) {
    if (to_string(moment) == name) return moment;
  }
  FAIL("no moment is called " << name);
  return scalecalc::Moment::mean;
}
