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
  std::vector<std::pair<std::string, std::string>> digits;  ///< {lambda, alpha}, when asked
};
report::Document self_normalizing_document(const SelfNormalizingAnswer& answer);

struct TunedAnswer {
  std::string activation;
  double variance = 1;
  Tuned tuned;
  std::map<std::string, std::string> digits;
};
report::Document tuned_document(const TunedAnswer& answer);

/// `both`: the bias variance was solved for too.
report::Document critical_document(const std::string& activation, const Critical& critical,
                                   bool both);

struct FixedPointAnswer {
  std::string activation;
  double weight_variance = 0, bias_variance = 0;
  std::vector<FixedPoint> points;
};
report::Document fixed_point_document(const FixedPointAnswer& answer);

report::Document truncated_document(const std::string& low, const std::string& high,
                                    const TruncatedNormal& normal);

}  // namespace scalecalc::cli
