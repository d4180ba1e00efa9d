#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support.hpp"
#include "two_traces.hpp"

/// Lists of layers that compute the same by other layers have the same predictions: what travels
/// with them, too.
namespace scalecalc::random_models {
namespace {

const char* const layer = "[[layer]]\n";
const char* const pool_layer = "[[layer]]\ntype = \"pool\"\n";

std::string linear_at(const std::string& place) {
  return "[[" + place + "]]\ntype = \"linear\"\nwidth = 16\n";
}
std::string activation_at(const std::string& place, const char* activation) {
  return "[[" + place + "]]\ntype = \"activation\"\nactivation = \"" + activation + "\"\n";
}

Trace of_list(int sequence, int batch, const std::string& loss, const std::string& layers) {
  const std::string text = "[model]\nkind = \"layers\"\nfeatures = 16\nclasses = 5\nsequence = " +
                           std::to_string(sequence) + "\nbatch = " + std::to_string(batch) +
                           "\n[input]\nkind = \"gaussian\"\ncross = 0.25\n[loss]\nkind = \"" +
                           loss + "\"\n" + layers;
  return propagate(build_network(parse_model(text, "list")));
}

/// Relative, of everything that both have by one path; `allowed`: of rules that take another way.
std::string apart(const Trace& one, const Trace& other, double allowed) {
  const auto differs = [allowed](double a, double b) {
    const bool unknown = std::isnan(a) && std::isnan(b);
    return !unknown && !(std::fabs(a - b) <= allowed * std::max(std::fabs(a), std::fabs(b)));
  };
  const auto said = [](const std::string& where, double a, double b) {
    return where + ": " + std::to_string(a) + " and " + std::to_string(b) + "\n";
  };
  std::string out = compare_shared(
      one, other, [&](const std::string& where, const Figure& a, const Figure& b, double) {
        return differs(a.value, b.value) ? said(where, a.value, b.value) : std::string();
      });
  for (const Site& a : one.sites)
    for (const Site& b : other.sites) {
      if (a.path != b.path) continue;
      if (differs(a.spread, b.spread)) out += said(a.path + " spread", a.spread, b.spread);
      if (differs(a.grad_spread, b.grad_spread))
        out += said(a.path + " grad_spread", a.grad_spread, b.grad_spread);
      if (differs(a.second_typical, b.second_typical))
        out += said(a.path + " typical", a.second_typical, b.second_typical);
    }
  return out;
}

/// Both run the same rules on the same numbers, in another order.
constexpr double rounding = 1e-12;

// Of two sequences the head's spread was 1/5 larger.
TEST_CASE("a pool of one token is that token") {
  const std::vector<std::string> lists = {
      layer + std::string("type = \"dropout\"\nrate = 0.2\n"),
      linear_at("layer") + activation_at("layer", "relu"),
      layer + std::string("type = \"gated\"\nwidth = 16\nactivation = \"silu\"\n"),
      layer + std::string("type = \"residual\"\n") + linear_at("layer.layers"),
      layer + std::string("type = \"attention\"\nheads = 2\n")};
  // A stack of weights and activations alone is followed otherwise than one with a pool.
  for (const std::string& list : lists)
    for (const int batch : {1, 2})
      for (const char* loss : {"mse", "cross-entropy"}) {
        CAPTURE(list);
        CAPTURE(batch);
        const Trace once = of_list(1, batch, loss, pool_layer + list),
                    twice = of_list(1, batch, loss, pool_layer + list + pool_layer);
        CHECK(apart(once, twice, rounding) == "");
      }
}

// Both ways start from one input. As if the branch had followed what came out of the shortcut, a
// head behind it had two thirds of its typical size.
TEST_CASE("a branch and a shortcut may change places") {
  const auto way = [](const std::string& place, int kind) {
    const std::string norm = "[[" + place + "]]\ntype = \"norm\"\nnorm = \"rmsnorm\"\n";
    if (kind == 0) return norm + activation_at(place, "relu") + linear_at(place);
    if (kind == 1) return activation_at(place, "square") + linear_at(place);
    return linear_at(place) + activation_at(place, "tanh") + linear_at(place);
  };
  const auto sum = [&way](int left, int right) {
    return layer + std::string("type = \"residual\"\n") + way("layer.shortcut", left) +
           way("layer.layers", right);
  };
  for (const auto& [left, right] : {std::pair{0, 1}, {0, 2}, {1, 2}})
    for (const int sequence : {1, 6})
      for (const char* loss : {"mse", "cross-entropy"}) {
        CAPTURE(left);
        CAPTURE(right);
        CAPTURE(sequence);
        const Trace one = of_list(sequence, 1, loss, sum(left, right)),
                    other = of_list(sequence, 1, loss, sum(right, left));
        const Site &a = one.sites.back(), &b = other.sites.back();
        CHECK(std::fabs(a.spread - b.spread) <= rounding * a.spread);
        CHECK(std::fabs(a.second_typical - b.second_typical) <= rounding * a.second_typical);
      }
}

double typical_gradient(const Trace& trace, const std::string& path) {
  for (const ParameterMoments& parameter : trace.parameters)
    if (parameter.path == path)
      return parameter.grad_second.value * std::exp(-parameter.grad_spread / 2);
  return std::nan("");
}

// What a norm divides by the size of takes that size out of x g, whatever x is. As if g knew
// nothing of x the typical gradient was 8 times too small behind a gated unit.
TEST_CASE("weights that a norm is behind have the same gradient with a norm in front") {
  const std::string gated = "[[layer]]\ntype = \"gated\"\nwidth = 16\nactivation = ",
                    norm = "[[layer]]\ntype = \"norm\"\nnorm = \"rmsnorm\"\n",
                    rest = linear_at("layer") + norm;
  for (const char* activation : {"\"relu\"\n", "\"tanh\"\n"})
    for (const int sequence : {1, 6}) {
      CAPTURE(activation);
      CAPTURE(sequence);
      const double one = typical_gradient(
                       of_list(sequence, 1, "cross-entropy", gated + activation + rest),
                       "linear[0].weight"),
                   other = typical_gradient(
                       of_list(sequence, 1, "cross-entropy", gated + activation + norm + rest),
                       "linear[0].weight");
      // Of either way the next order, 2/n, is left out.
      CHECK(std::fabs(std::log(one / other)) < 2 * 2.0 / 16);
    }
}

// The mean of maps is the map of the mean: a pool handed on the spread of the average of |x_t|^2.
TEST_CASE("a pool and the weights behind it may change places") {
  const std::string map = linear_at("layer");
  for (const int batch : {1, 2}) {
    CAPTURE(batch);
    const Trace one = of_list(6, batch, "mse", map + pool_layer),
                other = of_list(6, batch, "mse", pool_layer + map);
    const Site &a = one.sites.back(), &b = other.sites.back();
    CHECK(std::fabs(a.spread - b.spread) <= rounding * a.spread);
    CHECK(std::fabs(a.second_typical - b.second_typical) <= rounding * a.second_typical);
    // The input's 2/n, that of the map, and that of 5 logits.
    const double spread = 2.0 / 16 + 2.0 / 16 + 2.0 / 5;
    if (batch == 1) CHECK(std::fabs(a.spread - spread) <= rounding * spread);
  }
}

}  // namespace
}  // namespace scalecalc::random_models
