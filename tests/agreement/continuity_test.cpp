#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "two_traces.hpp"

/// A rule that is chosen by whether a value is 0 must meet, as the value goes to 0, the rule that
/// is chosen where it is: predictions move by no more than both state.
namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 2718;
constexpr std::uint64_t models = 50;
/// What is added; what it makes of a prediction by itself is as small.
constexpr double nudge = 1e-9;
/// Of a figure: below the standard error of a comparison with passes of a few hundred seeds.
constexpr double unseen = 0.01;

std::string jump(const std::string& where, const Figure& at_zero, const Figure& beside,
                 double scale) {
  const double most =
      double{at_zero.truncation} + double{beside.truncation} + unseen * std::fabs(scale);
  if (std::isnan(at_zero.value) && std::isnan(beside.value)) return {};
  if (std::fabs(at_zero.value - beside.value) <= most) return {};
  return where + ": " + std::to_string(at_zero.value / scale) + " and " +
         std::to_string(beside.value / scale) + ", where both state " +
         std::to_string(most / scale) + "\n";
}

bool is_transformer(const ModelSpec& spec) {
  return spec.kind == ModelSpec::Kind::transformer;
}

/// `apply` says whether there was something to do.
struct Change {
  std::string name;
  std::function<bool(ModelSpec&)> apply;
  int at_least = 0;  ///< models that it is tried on
  int tried = 0;
};

TEST_CASE("as a rate, a cap or a frequency goes to none predictions go to those without it") {
  std::vector<Change> changes = {{"attention_dropout",
                                  [](ModelSpec& spec) {
                                    if (!is_transformer(spec) || spec.attention_dropout != 0)
                                      return false;
                                    spec.attention_dropout = nudge;
                                    return true;
                                  },
                                  15},
                                 {"dropout",
                                  [](ModelSpec& spec) {
                                    if (!is_transformer(spec) || spec.dropout != 0) return false;
                                    spec.dropout = nudge;
                                    return true;
                                  },
                                  10},
                                 {"drop_path",
                                  [](ModelSpec& spec) {
                                    if (!is_transformer(spec) || spec.drop_path != 0) return false;
                                    spec.drop_path = nudge;
                                    return true;
                                  },
                                  15},
                                 {"zipf",
                                  [](ModelSpec& spec) {
                                    if (spec.input.kind != InputKind::tokens) return false;
                                    spec.input.zipf += nudge;
                                    return true;
                                  },
                                  5},
                                 {"attention_softcap",
                                  [](ModelSpec& spec) {
                                    if (!is_transformer(spec) || spec.attention_softcap != 0)
                                      return false;
                                    spec.attention_softcap = 1 / nudge;
                                    return true;
                                  },
                                  15}};
  for (std::uint64_t index = 0; index < models; ++index) {
    const ModelSpec plain = random_model(seed, index);
    const std::optional<Trace> at_zero = trace_of(plain);
    if (!at_zero) continue;
    for (Change& change : changes) {
      ModelSpec spec = plain;
      if (!change.apply(spec)) continue;
      const std::optional<Trace> beside = trace_of(spec);
      if (!beside) continue;
      CAPTURE(index);
      CAPTURE(change.name);
      CHECK(compare_shared(*at_zero, *beside, jump) == "");
      ++change.tried;
    }
  }
  for (const Change& change : changes) {
    CAPTURE(change.name);
    CHECK(change.tried >= change.at_least);
  }
}

}  // namespace
}  // namespace scalecalc::random_models
