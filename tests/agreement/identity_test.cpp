#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "random_models.hpp"
#include "scalecalc/moments.hpp"

/// Layers that change nothing must change no prediction.
namespace scalecalc::random_models {
namespace {

constexpr std::uint64_t seed = 22;
constexpr std::uint64_t models = 150;
/// Relative; both run the same rules on the same numbers.
constexpr double rounding = 1e-12;

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= rounding * std::max(std::fabs(a), std::fabs(b));
}

std::string difference(const std::string& where, const Figure& a, const Figure& b) {
  if (is_same(a.value, b.value) && is_same(a.truncation, b.truncation)) return {};
  return where + ": " + std::to_string(a.value) + " +- " + std::to_string(double{a.truncation}) +
         " without, " + std::to_string(b.value) + " +- " + std::to_string(double{b.truncation}) +
         " with\n";
}

/// Of everything but the layers of this kind themselves, whose numbers move.
std::string differences(const Trace& without, const Trace& with, const std::string& kind) {
  const auto others = [&kind](const Trace& trace) {
    std::vector<const Site*> sites;
    for (const Site& site : trace.sites)
      if (site.kind != kind) sites.push_back(&site);
    return sites;
  };
  const std::vector<const Site*> a = others(without), b = others(with);
  REQUIRE(a.size() == b.size());
  std::string out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const auto& [name, figure] :
         {std::pair("second", &Site::second), std::pair("cross", &Site::cross),
          std::pair("grad_second", &Site::grad_second), std::pair("grad_cross", &Site::grad_cross)})
      out += difference(a[i]->path + " " + name, a[i]->*figure, b[i]->*figure);
  }
  REQUIRE(without.parameters.size() == with.parameters.size());
  for (std::size_t i = 0; i < without.parameters.size(); ++i)
    out += difference(without.parameters[i].path, without.parameters[i].grad_second,
                      with.parameters[i].grad_second);
  return out;
}

/// Wherever it stands among the layers of random lists.
void changes_nothing(const LayerSpec& neutral, const std::string& kind) {
  int tried = 0;
  for (std::uint64_t index = 0; index < models; ++index) {
    const ModelSpec plain = random_model(seed, index);
    if (plain.kind != ModelSpec::Kind::layers || plain.layer_list.empty()) continue;
    const Trace without = propagate(build_network(plain));
    // Words have no features in front of their embedding.
    const std::size_t first = plain.layer_list.front().type == LayerSpec::Type::embedding ? 1 : 0;
    for (std::size_t place = first; place <= plain.layer_list.size(); ++place) {
      ModelSpec spec = plain;
      spec.layer_list.insert(spec.layer_list.begin() + static_cast<std::ptrdiff_t>(place), neutral);
      CAPTURE(index);
      CAPTURE(place);
      CHECK(differences(without, propagate(build_network(spec)), kind) == "");
      ++tried;
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("an identity between two layers changes nothing") {
  LayerSpec identity;
  identity.type = LayerSpec::Type::activation;
  identity.activation = "identity";
  changes_nothing(identity, "activation");
}

TEST_CASE("a dropout that drops nothing changes nothing") {
  LayerSpec dropout;
  dropout.type = LayerSpec::Type::dropout;
  dropout.dropout = 0;
  changes_nothing(dropout, "dropout");
}

}  // namespace
}  // namespace scalecalc::random_models
