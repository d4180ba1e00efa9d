#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "two_traces.hpp"

/// A rule that is chosen by whether a value is 0 must meet, as the value goes to 0, the rule that
/// is chosen where it is: predictions move by no more than both state.
namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 2718;
constexpr std::uint64_t models = 50;
/// What is added.
constexpr double nudge = 1e-9;
/// What it makes of a figure by itself, of a few features and tokens.
constexpr double of_nudge = 16 * nudge;
/// Of a figure: below the standard error of a comparison with passes of a few hundred seeds.
constexpr double unseen = 0.01;

/// `share`: of a figure, how far it may move.
std::string jump(const std::string& where, const Figure& at_zero, const Figure& beside,
                 double scale, double share) {
  const double most =
      double{at_zero.truncation} + double{beside.truncation} + share * std::fabs(scale) + of_nudge;
  if (std::isnan(at_zero.value) && std::isnan(beside.value)) return {};
  if (std::fabs(at_zero.value - beside.value) <= most) return {};
  std::ostringstream text;
  text << where << ": " << at_zero.value << " and " << beside.value << ", where " << most
       << " is stated\n";
  return text.str();
}
auto at_most(double share) {
  return [share](const std::string& where, const Figure& at_zero, const Figure& beside,
                 double scale) { return jump(where, at_zero, beside, scale, share); };
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
      CHECK(compare_shared(*at_zero, *beside, at_most(unseen)) == "");
      ++change.tried;
    }
  }
  for (const Change& change : changes) {
    CAPTURE(change.name);
    CHECK(change.tried >= change.at_least);
  }
}

/// Lists of one layer, with and without a sum around it and a pool behind it.
std::vector<std::string> short_lists() {
  std::vector<std::string> layers = {
      "type = \"linear\"\nwidth = 8\n", "type = \"norm\"\nnorm = \"rmsnorm\"\n",
      "type = \"norm\"\nnorm = \"layernorm\"\n", "type = \"attention\"\nheads = 2\n"};
  for (const char* activation : {"relu", "gelu", "tanh", "sigmoid", "square", "identity"}) {
    const std::string key = "activation = \"" + std::string(activation) + "\"\n";
    layers.push_back("type = \"activation\"\n" + key);
    layers.push_back("type = \"gated\"\nwidth = 8\n" + key);
  }
  std::vector<std::string> lists;
  for (const std::string& layer : layers)
    for (const char* around : {"[[layer]]\n", "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\n"})
      for (const char* behind : {"", "[[layer]]\ntype = \"pool\"\n"})
        lists.push_back(around + layer + behind);
  return lists;
}

TEST_CASE("as tokens share less and less, or all but nothing less, predictions have a limit") {
  struct End {
    std::string at, beside;
    double share;
  };
  // Of equal tokens no rule knows which of their overlaps were of the input and which of weights.
  const End ends[] = {{"0", "1e-9", unseen}, {"1", "0.999999999", 0.1}};
  for (const std::string& list : short_lists())
    for (const std::string loss : {"mse", "cross-entropy"})
      for (const End& end : ends) {
        const auto model = [&](const std::string& cross) {
          return parse_model(
              "[model]\nkind = \"layers\"\nfeatures = 8\nclasses = 5\nsequence = 6\nbatch = 2\n"
              "[input]\nkind = \"gaussian\"\ncross = " +
                  cross + "\n[loss]\nkind = \"" + loss + "\"\n" + list,
              "list");
        };
        CAPTURE(list);
        CAPTURE(loss);
        CAPTURE(end.at);
        const std::optional<Trace> at = trace_of(model(end.at)),
                                   beside = trace_of(model(end.beside));
        REQUIRE(at.has_value());
        REQUIRE(beside.has_value());
        CHECK(compare_shared(*at, *beside, at_most(end.share)) == "");
      }
}

}  // namespace
}  // namespace scalecalc::random_models
