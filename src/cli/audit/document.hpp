#pragma once

#include <string>

#include "scalecalc/audit.hpp"
#include "scalecalc/report.hpp"

/// How the answer of `audit` is laid out.
namespace scalecalc::cli {

struct AuditAnswer {
  std::string weights;  ///< the path
  std::string model;    ///< a preset or a file
  ModelSpec spec;
  std::optional<LibraryModel> library;  ///< in its place
  AuditOptions options;
  Audit audit;
};

report::Document audit_document(const AuditAnswer& answer);

}  // namespace scalecalc::cli
