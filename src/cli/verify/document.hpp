#pragma once

#include <string>

#include "scalecalc/report.hpp"
#include "scalecalc/verify.hpp"

/// How the answer of `verify` is laid out.
namespace scalecalc::cli {

struct VerifyAnswer {
  std::string model;  ///< a preset or a file
  ModelSpec spec;
  VerifyOptions options;
  Verification verification;
};

report::Document verify_document(const VerifyAnswer& answer);

/// "372 comparisons of 64 seeds: all within their bands; worst z 3.1 at head second".
std::string summary_line(const Verification& verification);

}  // namespace scalecalc::cli
