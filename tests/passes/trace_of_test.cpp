#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "scalecalc/passes.hpp"
#include "tolerance.hpp"

namespace scalecalc {
namespace {

using namespace testing;

PassSamples samples(std::vector<double> second) {
  PassSamples all;
  SiteSamples site;
  site.path = "head";
  site.kind = "head";
  site.width = 3;
  site.tokens = 2;
  site.mean = site.cross = site.grad_cross = std::vector<double>(second.size(), 0.5);
  site.second = site.grad_second = second;
  all.sites.push_back(site);
  all.parameters.push_back({"head.weight", 4, 3, second, second});
  all.loss = std::move(second);
  return all;
}

}  // namespace

TEST_CASE("trace: means, standard errors and spreads of the samples") {
  const Trace trace = trace_of(samples({1.0, 2.0, 4.0, 5.0}));
  CHECK(trace.engine == "passes");
  REQUIRE(trace.sites.size() == 1);
  const Site& site = trace.sites[0];
  CHECK(site.path == "head");
  CHECK(site.kind == "head");
  CHECK(site.width == 3);
  CHECK(site.tokens == 2);
  CHECK(site.second.value == 3.0);
  // The squares about 3 are 4, 1, 1, 4: a variance of 10/3 among four.
  CHECK(site.second.error == rounded(std::sqrt(10.0 / 12.0), 8));
  CHECK(site.second.truncation == 0.0);
  CHECK(site.spread == rounded(10.0 / 27.0, 8));
  CHECK(site.grad_spread == site.spread);
  CHECK(site.second_finite == 3.0);
  CHECK(site.second_typical == rounded(std::pow(40.0, 0.25), 8));
  CHECK(site.cross.error == 0.0);
  CHECK(trace.parameters[0].path == "head.weight");
  CHECK(trace.parameters[0].rows == 4);
  CHECK(trace.parameters[0].grad_second.value == 3.0);
  CHECK(trace.parameters[0].grad_spread == site.spread);
  CHECK(trace.loss.value == 3.0);
}

TEST_CASE("trace: one sample says nothing about its error") {
  const Site site = trace_of(samples({2.0})).sites[0];
  CHECK(site.second.value == 2.0);
  CHECK(std::isinf(site.second.error));
  CHECK(site.spread == 0.0);
}

TEST_CASE("trace: what is unknown stays unknown, and a silent site has no spread") {
  PassSamples unknown = samples({2.0, 3.0});
  unknown.sites[0].cross = {NAN, NAN};
  const Site site = trace_of(unknown).sites[0];
  CHECK_FALSE(site.cross.is_known());
  CHECK(site.cross.error == 0.0);
  const Site silent = trace_of(samples({0.0, 0.0})).sites[0];
  CHECK(silent.spread == 0.0);
  CHECK(silent.second_typical == 0.0);
  CHECK(trace_of({}).sites.empty());
}

TEST_CASE("trace: what overflows is infinite, by as much, and what is no number is unknown") {
  constexpr double infinite = std::numeric_limits<double>::infinity(),
                   none = std::numeric_limits<double>::quiet_NaN();
  const Trace trace = trace_of(samples({1.0, infinite}));
  CHECK(trace.sites[0].second.value == infinite);
  CHECK(trace.sites[0].second.error == infinite);
  CHECK(trace.parameters[0].grad_second.error == infinite);
  CHECK(trace.sites[0].spread == 0);
  CHECK_FALSE(trace_of(samples({1.0, none})).sites[0].second.is_known());
}

}  // namespace scalecalc
