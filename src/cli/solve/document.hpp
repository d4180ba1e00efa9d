#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scalecalc/gains.hpp"
#include "scalecalc/report.hpp"

/// One document for each kind of `solve`.
namespace scalecalc::cli {

struct SelfNormalizingAnswer {
  std::string family;
  double low = 0, high = 0;
  std::vector<SelfNormalizing> solutions;
  std::vector<std::map<std::string, std::string>> digits;  ///< of each, when asked
};
report::Document self_normalizing_document(const SelfNormalizingAnswer& answer);

struct TunedAnswer {
  std::string activation;
  double variance = 1;
  Tuned tuned;
  std::map<std::string, std::string> digits;
};
report::Document tuned_document(const TunedAnswer& answer);

struct CriticalAnswer {
  std::string activation;
  Critical critical;
  bool both = false;  ///< the bias variance was solved for too
  std::map<std::string, std::string> digits;
};
report::Document critical_document(const CriticalAnswer& answer);

struct FixedPointAnswer {
  std::string activation;
  double weight_variance = 0, bias_variance = 0;
  std::vector<FixedPoint> points;
  std::vector<std::map<std::string, std::string>> digits;  ///< of each point, when asked
};
report::Document fixed_point_document(const FixedPointAnswer& answer);

report::Document truncated_document(const std::string& low, const std::string& high,
                                    const TruncatedNormal& normal);

}  // namespace scalecalc::cli
