#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "scalecalc/passes.hpp"

/// What the accuracy programs share: random choices and measured ratios of moments.
namespace scalecalc::bench {

/// Random choices that do not depend on the standard library's distributions.
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : bits_(seed) {}
  double uniform(double low, double high);
  double log_uniform(double low, double high);
  std::int64_t one_of(const std::vector<std::int64_t>& values);

 private:
  std::mt19937_64 bits_;
};

struct Measured {
  double value = 0;
  double relative_error = 0;  ///< standard error
};

/// Control variates: what a draw happened to have, and what it has on average.
struct Control {
  std::vector<double> samples;
  double expected = 0;
};
/// mean(above)/mean(below) over draws (an empty `below` is 1), with the part that is linear in the
/// controls taken out.
Measured ratio(const std::vector<double>& above, const std::vector<double>& below,
               const std::vector<Control>& controls);

/// Three lines, the 50th, 90th and 99th percentile in percent, and that of the measurement's own
/// standard error.
class Errors {
 public:
  void add(const Measured& measured, double predicted);
  /// `targets`: three, or none.
  void print(const std::string& work, const std::vector<const char*>& targets) const;

 private:
  std::vector<double> errors_, noise_;
};

/// The suites: percentiles by component; one grid of networks against passes; the spread of depth.
void components(int configurations, int threads);
/// `only`: deepnorm, pre, post, res-post or mlp; empty for all. `seeds` to begin with.
void grid(int seeds, int threads, const std::string& only);
void spread(int seeds, int threads);

}  // namespace scalecalc::bench
