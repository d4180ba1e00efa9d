#include <algorithm>
#include <cmath>
#include <limits>

#include "scalecalc/passes.hpp"

namespace scalecalc {
namespace {

double mean_of(const std::vector<double>& samples) {
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

/// Unbiased; infinite for one sample, which says nothing about how much others differ.
double variance_of(const std::vector<double>& samples, double mean) {
  if (samples.size() < 2) return std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (const double sample : samples) sum += (sample - mean) * (sample - mean);
  return sum / static_cast<double>(samples.size() - 1);
}

/// Unknown where a pass has no number; of passes that overflow infinite, by as much.
Figure figure(const std::vector<double>& samples) {
  Figure result;
  if (samples.empty()) return result;
  result.value = mean_of(samples);
  if (!result.is_known()) return result;
  const double error =
      std::sqrt(variance_of(samples, result.value) / static_cast<double>(samples.size()));
  result.error = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  return result;
}

/// 0 where it cannot be told.
double relative_variance(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0.0;
  const double mean = mean_of(samples);
  const double ratio = variance_of(samples, mean) / (mean * mean);
  return std::isfinite(ratio) ? ratio : 0.0;
}

double geometric_mean(const std::vector<double>& samples) {
  double sum = 0.0;
  for (const double sample : samples) sum += std::log(sample);
  return std::exp(sum / static_cast<double>(samples.size()));
}

Site site_of(const SiteSamples& samples) {
  Site site;
  site.path = samples.path;
  site.kind = samples.kind;
  site.width = samples.width;
  site.tokens = samples.tokens;
  site.mean = figure(samples.mean);
  site.second = figure(samples.second);
  site.cross = figure(samples.cross);
  site.grad_second = figure(samples.grad_second);
  site.grad_cross = figure(samples.grad_cross);
  site.spread = relative_variance(samples.second);
  site.grad_spread = relative_variance(samples.grad_second);
  site.second_finite = site.second.value;
  site.second_typical = geometric_mean(samples.second);
  return site;
}

ParameterMoments parameter_of(const ParameterSamples& samples) {
  ParameterMoments moments;
  moments.path = samples.path;
  moments.rows = samples.rows;
  moments.columns = samples.columns;
  moments.second = figure(samples.second);
  moments.grad_second = figure(samples.grad_second);
  moments.grad_spread = relative_variance(samples.grad_second);
  return moments;
}

}  // namespace

Trace trace_of(const PassSamples& samples) {
  Trace trace;
  trace.engine = "passes";
  trace.loss = figure(samples.loss);
  std::transform(samples.sites.begin(), samples.sites.end(), std::back_inserter(trace.sites),
                 site_of);
  std::transform(samples.parameters.begin(), samples.parameters.end(),
                 std::back_inserter(trace.parameters), parameter_of);
  return trace;
}

}  // namespace scalecalc
