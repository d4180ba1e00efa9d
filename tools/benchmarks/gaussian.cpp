/// Times Gaussian expectations on one thread: five moments by quadrature, closed forms, pairs.
/// Every value timed is also held to the accuracy the work names.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "scalecalc/gaussian.hpp"
#include "timing.hpp"

namespace {

using namespace scalecalc;

const std::vector<double> variances = {0.25, 0.5, 0.8, 1, 1.3, 2, 3, 4};
const std::vector<double> correlations = {-0.95, -0.6, -0.2, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99};

void require(const std::string& work, const Estimate& estimate, double relative, double scale) {
  if (estimate.error <= relative * std::fabs(scale)) return;
  std::fprintf(stderr, "%s: the error of %.17g is %.2g\n", work.c_str(), estimate.value,
               estimate.error);
  std::exit(1);
}

/// Relative to the value; a mean or a slope that vanishes by symmetry has the size of its root mean
/// square.
void require(const std::string& work, const Moments1D& m) {
  constexpr double good = 1e-13;
  const double size = std::sqrt(m.second.value);
  require(work, m.mean, good, std::fabs(m.mean.value) < 0.1 * size ? size : m.mean.value);
  require(work, m.second, good, m.second.value);
  require(work, m.slope_mean, good, m.slope_mean.value);
  if (m.slope_second) require(work, *m.slope_second, good, m.slope_second->value);
  require(work, m.fourth, good, m.fourth.value);
}

void five_moments(const char* name) {
  const Activation activation = Activation::named(name);
  const std::string work = std::string("five moments of ") + name + ", quadrature, 1e-13";
  for (const double q : variances) require(work, quadrature_1d(activation, {0, q, {}}));
  const double time = bench::microseconds(variances.size(), [&] {
    double sum = 0;
    for (const double q : variances) sum += quadrature_1d(activation, {0, q, {}}).second.value;
    return sum;
  });
  bench::print(work, time, "us", "25");
}

void closed_form_line(const char* name, Moment moment, double mean = 0) {
  const ClosedFormFunction function(Activation::named(name), moment);
  std::string work = "closed form, " + to_string(moment) + " of " + name;
  if (mean != 0) work += ", with a mean";
  const double time = bench::microseconds(variances.size(), [&] {
    double sum = 0;
    for (const double q : variances) sum += function({mean, q, {}}).value().value;
    return sum;
  });
  bench::print(work, time, "us", "1");
}

void closed_form_pair(const char* name, Moment moment) {
  const ClosedFormFunction function(Activation::named(name), moment);
  const std::string work = "closed form, " + to_string(moment) + " of " + name;
  const double time = bench::microseconds(correlations.size(), [&] {
    double sum = 0;
    for (const double c : correlations) sum += function({0, 1.3, c}).value().value;
    return sum;
  });
  bench::print(work, time, "us", "1");
}

/// Where the terms of a formula cancel, it is evaluated again with more digits.
void cancelling(const char* name, Moment moment, const GaussianInput& input, const char* where) {
  const ClosedFormFunction function(Activation::named(name), moment);
  const double time = bench::microseconds(1, [&] { return function(input).value().value; });
  bench::print("closed form, " + to_string(moment) + " of " + name + ", cancelling at " + where,
               time, "us", "");
}

void pair(const char* name, Moment moment) {
  const Activation activation = Activation::named(name);
  const std::string work = to_string(moment) + " of " + name + ", quadrature, 1e-12";
  const auto at = [&](double c) { return quadrature(activation, moment, {0, 1.3, c}); };
  for (const double c : correlations) require(work, at(c), 1e-12, at(c).value);
  const double time = bench::microseconds(correlations.size(), [&] {
    double sum = 0;
    for (const double c : correlations) sum += at(c).value;
    return sum;
  });
  bench::print(work, time, "us", "1000");
}

void building(const char* name) {
  const Activation activation = Activation::named(name);
  const double time = bench::microseconds(1, [&] {
    const PairFunction function(activation, Moment::cross, 0, 1.3);
    return function(0.5).value + function(0.999).value;
  });
  bench::print(std::string("cross of ") + name + ", fixing q", time, "us", "");
}

void pair_function(const char* name, Moment moment) {
  const PairFunction function(Activation::named(name), moment, 0, 1.3);
  std::vector<double> at;
  for (int k = 0; k <= 2000; ++k) at.push_back(-1 + 0.001 * k);
  const std::string work = to_string(moment) + " of " + name + ", once q is fixed";
  const double time = bench::microseconds(at.size(), [&] {
    double sum = 0;
    for (const double c : at) sum += function(c).value;
    return sum;
  });
  bench::print(work, time, "us", "1");
}

}  // namespace

int main() {
  const auto smooth = {"gelu", "silu", "tanh", "mish"};
  const auto kinked = {"relu6", "elu", "hard_swish", "selu"};
  for (const char* name : smooth) five_moments(name);
  for (const char* name : kinked) five_moments(name);

  for (const char* name : {"relu", "gelu", "elu", "hard_swish"}) {
    closed_form_line(name, Moment::second);
  }
  closed_form_line("gelu", Moment::slope_second);
  closed_form_line("relu", Moment::second, 0.3);
  closed_form_line("gelu", Moment::mean, 0.3);
  for (const char* name : {"relu", "gelu", "erf"}) closed_form_pair(name, Moment::cross);
  closed_form_pair("gelu", Moment::slope_cross);
  cancelling("selu", Moment::fourth, {0, 0.25, {}}, "q = 1/4");
  cancelling("elu", Moment::cross, {0, 4, 0.5}, "q = 4");

  for (const char* name : {"gelu", "silu", "tanh", "mish", "relu6", "elu", "hard_swish", "selu"}) {
    pair(name, Moment::cross);
  }
  pair("gelu", Moment::slope_cross);
  for (const char* name : {"gelu", "tanh", "relu", "selu"}) {
    building(name);
    pair_function(name, Moment::cross);
  }
  pair_function("gelu", Moment::slope_cross);
  return 0;
}
