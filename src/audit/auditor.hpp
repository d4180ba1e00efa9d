#pragma once

#include <map>
#include <string>
#include <vector>

#include "audit/judge.hpp"
#include "audit/measure.hpp"
#include "scalecalc/audit.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::audit_room {

/// One tensor of the file that is to be measured, and where its parts go.
struct Job {
  std::size_t tensor = 0;
  Division division;
  std::size_t first = 0;  ///< index of the first part among the audited parameters
};

/// Measures in the order of the file, then judges all at once. What tensors are due, and by which
/// rules, derived classes lay out.
class Auditor {
 protected:
  /// Throws Error(input) for a file that cannot be read.
  Auditor(const std::string& weights, const AuditOptions& options)
      : options_(options), reader_(weights) {
    audit_.bytes = reader_.bytes();
  }
  ~Auditor() = default;

  void add(AuditedParameter parameter, Expectation expectation);
  static AuditedParameter of_tensor(const weights::Tensor& tensor, const std::string& pattern);
  static std::string wrong_shape(const weights::Tensor& tensor,
                                 const std::vector<std::int64_t>& due);
  /// What is known of a tensor by its name is not read again. Throws Error(fault) when the options'
  /// progress stops it.
  void measure_all(const std::map<std::string, Sample>& known = {});
  void judge_all();

  const AuditOptions& options_;
  weights::Reader reader_;
  std::vector<Job> jobs_;
  Audit audit_;

 private:
  void find_copies();
  double size_of(const Job& job) const;

  std::vector<Expectation> expectations_;  ///< of audit_.parameters
};

}  // namespace scalecalc::audit_room
