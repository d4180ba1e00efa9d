#pragma once

#include <string>

#include "scalecalc/audit.hpp"
#include "scalecalc/report.hpp"

/// How the answer of `audit` is laid out.
namespace scalecalc::cli {

struct AuditAnswer {
  std::string weights;  ///< the path
  std::string model;    ///< a preset or a file; empty: what the weights say
  ModelSpec spec;
  std::optional<LibraryModel> library;  ///< in its place
  bool recognised = false;              ///< by names and shapes of the weights
  std::string against;                  ///< whose rules: of --against
  std::vector<std::string> others;      ///< those that may be asked for in their place
  /// Architectures with the same tensors and other rules, by which more is wrong.
  std::vector<std::string> less_likely;
  AuditOptions options;
  Audit audit;
};

report::Document audit_document(const AuditAnswer& answer);

}  // namespace scalecalc::cli
