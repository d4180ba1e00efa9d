/// One component between a Gaussian input and a head, at random sizes, variances and cosines: its
/// moments and the factor it puts on gradients, predicted beside measured.
#include <cmath>
#include <map>

#include "accuracy.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::bench {
namespace {

constexpr std::int64_t classes = 32;

struct Case {
  std::int64_t width = 0, tokens = 0;
  double second = 1, cosine = 0;
  int draws = 0;
};

Linear linear(const std::string& path, const std::string& role, std::int64_t in, std::int64_t out) {
  Linear layer;
  layer.path = path;
  layer.role = role;
  layer.fan_in = in;
  layer.fan_out = out;
  layer.std = 1 / std::sqrt(static_cast<double>(in));
  return layer;
}

/// Cross-entropy of logits of variance `tau2`: what arrives from behind has the cosine of their
/// softmax, and the head ties it to the component itself by tau2/width only.
Network network(const Case& of, Layer component, double tau2) {
  Network network;
  network.sequence = of.tokens;
  network.features = of.width;
  network.classes = classes;
  network.input_second = of.second;
  network.input_cross = of.cosine * of.second;
  Linear head = linear("head", "head", of.width, classes);
  network.layers = {std::move(component), Layer{head}};
  const Trace trace = propagate(network);
  for (const Site& site : trace.sites)
    if (site.path == "head") head.std *= std::sqrt(tau2 / site.second.value);
  network.layers.back() = Layer{head};
  return network;
}

/// Predicted beside measured moments of one network by path.
class Beside {
 public:
  Beside(const Network& network, const Case& of, std::uint64_t seed, int threads)
      : predicted_(propagate(network)),
        measured_(sample_passes(network, {seed, threads, "cpu"}, of.draws)) {
    for (const Site& site : predicted_.sites) sites_[site.path] = &site;
    for (const SiteSamples& site : measured_.sites) samples_[site.path] = &site;
    const SiteSamples& input = *samples_.at("input");
    controls_ = {{input.second, of.second}};
    if (of.cosine > 0) controls_.push_back({input.cross, of.cosine * of.second});
  }

  void forward(Errors& second, Errors& cross, const std::string& path) const {
    const Site& site = *sites_.at(path);
    second.add(ratio(samples_.at(path)->second, {}, controls_), site.second.value);
    if (site.cross.value > 0.02 * site.second.value)
      cross.add(ratio(samples_.at(path)->cross, {}, controls_), site.cross.value);
  }
  /// The gradient at `at` over that at `from`.
  void backward(Errors& errors, const std::string& at, const std::string& from) const {
    errors.add(ratio(samples_.at(at)->grad_second, samples_.at(from)->grad_second, controls_),
               sites_.at(at)->grad_second.value / sites_.at(from)->grad_second.value);
  }
  void weights(Errors& errors, const std::string& from) const {
    const double upstream = sites_.at(from)->grad_second.value;
    for (std::size_t k = 0; k < predicted_.parameters.size(); ++k) {
      const ParameterMoments& parameter = predicted_.parameters[k];
      if (parameter.path == "head.weight") continue;
      errors.add(ratio(measured_.parameters[k].grad_second, samples_.at(from)->grad_second, {}),
                 parameter.grad_second.value / upstream);
    }
  }

 private:
  Trace predicted_;
  PassSamples measured_;
  std::map<std::string, const Site*> sites_;
  std::map<std::string, const SiteSamples*> samples_;
  std::vector<Control> controls_;
};

void gelu(int configurations, int threads) {
  Errors second, cross, gradient;
  Choice choose(1);
  for (int k = 0; k < configurations; ++k) {
    const Case of{4096, choose.one_of({4, 8, 16}), choose.log_uniform(0.1, 10),
                  choose.uniform(0, 0.95), 300};
    const Layer layer{ActivationLayer{"gelu", "gelu"}};
    const Beside beside(network(of, layer, choose.log_uniform(0.1, 2)), of, 1000 * k, threads);
    beside.forward(second, cross, "gelu");
    beside.backward(gradient, "input", "gelu");
  }
  second.print("gelu forward, second", {"0.2", "0.6", "1.3"});
  cross.print("gelu forward, cross", {"0.2", "0.6", "1.3"});
  gradient.print("gelu gradient", {"0.2", "0.6", "1.1"});
}

void layernorm(int configurations, int threads) {
  Errors cross, gradient;
  Choice choose(2);
  for (int k = 0; k < configurations; ++k) {
    const Case of{choose.one_of({64, 128, 256, 512, 1024}), choose.one_of({8, 16, 32}),
                  choose.log_uniform(0.1, 10), choose.uniform(0, 0.95), 300};
    const Layer layer{Norm{"norm", NormKind::layernorm, of.width, 0.0, false}};
    const Beside beside(network(of, layer, choose.log_uniform(0.1, 2)), of, 1000 * k, threads);
    Errors one;
    beside.forward(one, cross, "norm");
    beside.backward(gradient, "input", "norm");
  }
  cross.print("layernorm forward, cross", {});
  gradient.print("layernorm gradient", {"0.4", "1.5", "3.2"});
}

/// E tr J^2 over T keys, J the slope of softmax: what iid gradients of the weights leave of
/// themselves at the scores.
void softmax(int configurations, int threads) {
  Errors gradient;
  Choice choose(3);
  for (int k = 0; k < configurations; ++k) {
    const auto keys = static_cast<std::int64_t>(choose.log_uniform(4, 300));
    const double tau2 = choose.log_uniform(0.01, 6);
    MonteCarloOptions options;
    options.samples = 1 << 18;
    options.seed = static_cast<std::uint64_t>(k);
    options.threads = threads;
    const Estimate a = softmax_monte_carlo(keys, keys, tau2, 0.5, options).a;
    gradient.add({a.value, a.error / a.value}, softmax_one(keys, tau2).a.value);
  }
  gradient.print("softmax gradient", {"0.1", "0.6", "4.5"});
}

Attention attention_layer(const Case& of, Choice& choose) {
  Attention layer;
  layer.path = "attn";
  layer.heads = layer.kv_heads = choose.one_of({1, 2, 4});
  layer.head_width = of.width / layer.heads;
  layer.causal = choose.uniform(0, 1) < 0.3;
  layer.scale = 1 / std::sqrt(static_cast<double>(layer.head_width));
  layer.q = linear("attn.q", "q", of.width, of.width);
  layer.k = linear("attn.k", "k", of.width, of.width);
  layer.v = linear("attn.v", "v", of.width, of.width);
  layer.o = linear("attn.o", "o", of.width, of.width);
  layer.q.std *= std::sqrt(choose.uniform(0.25, 2) / of.second);
  return layer;
}

void attention(int configurations, int threads) {
  Errors second, cross, queries, gradient, weights;
  Choice choose(4);
  for (int k = 0; k < configurations; ++k) {
    const Case of{choose.one_of({64, 128, 192}), choose.one_of({8, 16, 24, 32}),
                  choose.log_uniform(0.5, 2), choose.uniform(0, 0.9), 500};
    const Layer layer{attention_layer(of, choose)};
    const Beside beside(network(of, layer, choose.log_uniform(0.1, 2)), of, 1000 * k, threads);
    beside.forward(second, cross, "attn.o");
    beside.backward(queries, "attn.q", "attn.mix");
    beside.backward(gradient, "input", "attn.o");
    beside.weights(weights, "attn.o");
  }
  second.print("attention block forward, second", {"1.4", "4.1", "7.8"});
  cross.print("attention block forward, cross", {"1.4", "4.1", "7.8"});
  queries.print("attention gradient of queries", {});
  gradient.print("attention block gradient", {"2.2", "13.3", "44.5"});
  weights.print("attention block, gradients of its weights", {});
}

}  // namespace

void components(int configurations, int threads) {
  gelu(configurations, threads);
  layernorm(configurations, threads);
  softmax(configurations, threads);
  attention(configurations, threads);
}

}  // namespace scalecalc::bench
