#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "random_models.hpp"
#include "scalecalc/moments.hpp"

/// What every prediction must satisfy, whatever the network.
namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 21;
constexpr std::uint64_t models = 300;

/// Relative rounding of a sum of this many terms of like size.
constexpr double rounding = 1e-9;

std::string shown(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

class Properties {
 public:
  explicit Properties(const Trace& trace) {
    for (const Site& site : trace.sites) check(site);
    for (const ParameterMoments& parameter : trace.parameters) check(parameter);
  }
  const std::string& broken() const { return broken_; }

 private:
  void need(bool holds, const std::string& where, const std::string& what, double value) {
    if (!holds && broken_.size() < 1000) broken_ += where + " " + what + ": " + shown(value) + "\n";
  }

  void check(const Figure& figure, const std::string& where, const std::string& what) {
    need(figure.error >= 0, where, what + ".error", figure.error);
    need(figure.truncation >= 0, where, what + ".truncation", figure.truncation);
  }

  void not_negative(const Figure& figure, const std::string& where, const std::string& what) {
    need(!figure.is_known() || figure.value >= 0, where, what, figure.value);
  }

  /// |E x_t x_s| <= E x^2, by Cauchy and Schwarz, up to what each may be off.
  void bounded(const Figure& cross, const Figure& second, const std::string& where,
               const std::string& what) {
    if (!cross.is_known() || !second.is_known()) return;
    const double off = cross.error + cross.truncation + second.error + second.truncation;
    const double excess = std::abs(cross.value) - second.value * (1 + rounding) - off;
    need(excess <= 0, where, what + " beyond its second moment by", excess);
  }

  void check(const Site& site) {
    check(site.mean, site.path, "mean");
    check(site.second, site.path, "second");
    check(site.cross, site.path, "cross");
    check(site.grad_second, site.path, "grad_second");
    check(site.grad_cross, site.path, "grad_cross");
    not_negative(site.second, site.path, "second");
    not_negative(site.grad_second, site.path, "grad_second");
    bounded(site.cross, site.second, site.path, "cross");
    bounded(site.grad_cross, site.grad_second, site.path, "grad_cross");
    need(site.spread >= 0, site.path, "spread", site.spread);
    need(site.grad_spread >= 0, site.path, "grad_spread", site.grad_spread);
  }

  void check(const ParameterMoments& parameter) {
    check(parameter.second, parameter.path, "second");
    check(parameter.grad_second, parameter.path, "grad_second");
    not_negative(parameter.second, parameter.path, "second");
    not_negative(parameter.grad_second, parameter.path, "grad_second");
    need(parameter.grad_spread >= 0, parameter.path, "grad_spread", parameter.grad_spread);
  }

  std::string broken_;
};

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}
bool same(const Figure& a, const Figure& b) {
  return same(a.value, b.value) && same(a.error, b.error) && same(a.truncation, b.truncation);
}
bool same(const Trace& a, const Trace& b) {
  const auto site = [](const Site& x, const Site& y) {
    return x.path == y.path && same(x.mean, y.mean) && same(x.second, y.second) &&
           same(x.cross, y.cross) && same(x.grad_second, y.grad_second) &&
           same(x.grad_cross, y.grad_cross) && same(x.spread, y.spread) &&
           same(x.grad_spread, y.grad_spread);
  };
  const auto parameter = [](const ParameterMoments& x, const ParameterMoments& y) {
    return x.path == y.path && same(x.second, y.second) && same(x.grad_second, y.grad_second) &&
           same(x.grad_spread, y.grad_spread);
  };
  return std::equal(a.sites.begin(), a.sites.end(), b.sites.begin(), b.sites.end(), site) &&
         std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), parameter);
}

TEST_CASE("errors, spreads and second moments are not negative, and bound the crosses") {
  int refused = 0;
  std::string reasons;
  for (std::uint64_t index = 0; index < models; ++index) {
    const ModelSpec spec = random_model(seed, index);
    Trace trace;
    try {
      trace = propagate(build_network(spec));
    } catch (const Error& error) {
      ++refused;
      reasons += std::to_string(index) + ": " + error.what() + "\n";
      continue;
    }
    const Properties properties(trace);
    CAPTURE(index);
    CAPTURE(model_text(spec));
    CHECK(properties.broken() == "");
    if (index % 10 == 0) CHECK(same(propagate(build_network(spec)), trace));
  }
  CAPTURE(reasons);
  // Scores of variance above 1000, jumps whose gradient is infinite, two streams with norms over
  // samples; of two stacks each may be.
  CHECK(refused <= 35 * static_cast<int>(models) / 1000);
}

/// The largest truncation of the signal over its second moment.
double largest_truncation(const ModelSpec& spec) {
  double largest = 0;
  for (const Site& site : propagate(build_network(spec)).sites)
    if (site.second.value > 0)
      largest = std::max(
          largest, std::max(site.second.truncation, site.cross.truncation) / site.second.value);
  return largest;
}

// What infinite width has exactly, the signal of independent Gaussian inputs, is left out by orders
// of 1/width alone: sixteen times the width leaves a fourth of it at most (a half power, for the
// sums of crosses that fluctuate), whatever the placement and the norm of tokens.
TEST_CASE("what the signal leaves out falls with the width, in every placement") {
  for (const ModelSpec::Kind kind : {ModelSpec::Kind::mlp, ModelSpec::Kind::transformer})
    for (const std::string& placement : placement_names())
      for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm}) {
        ModelSpec spec = default_spec(kind);
        spec.placement = placement_from(placement);
        spec.norm = norm;
        spec.layers = 3;
        spec.sequence = 6;
        spec.input.kind = InputKind::gaussian;
        spec.input.cross = 0.3 * spec.input.second;
        const auto at = [&](std::int64_t width) {
          spec.width = width;
          if (kind == ModelSpec::Kind::mlp) spec.features = width;
          spec.ffn = 4 * width;
          spec.heads = 2;
          return largest_truncation(spec);
        };
        CAPTURE(placement);
        CAPTURE(to_string(norm));
        CAPTURE(to_string(kind));
        // Of placements that a layer of this kind has.
        try {
          const double wide = at(1024), narrow = at(64);
          CHECK(wide <= narrow / 4 + rounding);
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::input)
            FAIL_CHECK(error.what());
        }
      }
}

}  // namespace
}  // namespace scalecalc::random_models
