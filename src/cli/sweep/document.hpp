#pragma once

#include <optional>
#include <string>

#include "scalecalc/report.hpp"
#include "scalecalc/verify.hpp"

/// How the answer of `sweep` is laid out.
namespace scalecalc::cli {

struct SweepAnswer {
  std::string model;  ///< the file; empty when flags alone describe the network
  std::string optimizer, family;
  std::string constraint;  ///< empty when alpha and lambda were both given
  SweepOptions options;
  SweepResult result;
};

report::Document sweep_document(const SweepAnswer& answer);

/// Points as JSON values and as a table for people; other commands show sweeps too.
report::Value sweep_points(const SweepResult& result);
report::Table sweep_table(const SweepResult& result);

}  // namespace scalecalc::cli
