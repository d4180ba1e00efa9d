#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "claims/library.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/trace.hpp"

/// The networks that claims speak of.
namespace scalecalc::claims {

/// The keys of a call that describe a model.
const std::vector<std::string>& model_keys();
/// The keys of a function with its own ones first.
std::vector<std::string> with_model_keys(std::vector<std::string> own);
/// preset=, model= or kind=, overridden; alpha and lambda still open are solved for the optimizer.
class Networks;
ModelSpec model_of(Arguments& arguments, const Networks& networks);

/// Traces that were made already: many claims ask about one network.
class Networks {
 public:
  /// Model files are looked for in the directory.
  explicit Networks(std::string directory) : directory_(std::move(directory)) {}
  /// Model files are those built into the program beside its topics.
  static Networks built_in();
  ModelSpec model(const std::string& file) const;
  /// Throws as propagate, propagate_montecarlo and sample_passes do.
  const Trace& trace(const ModelSpec& spec, Engine& engine, int seeds);
  /// A number that was found of networks already; `key` says all that it depends on.
  const Estimate& number(const std::string& key, const std::function<Estimate()>& find);

 private:
  std::string directory_;
  bool built_in_ = false;
  std::map<std::string, Trace> traces_;
  std::map<std::string, Estimate> numbers_;
};

}  // namespace scalecalc::claims
