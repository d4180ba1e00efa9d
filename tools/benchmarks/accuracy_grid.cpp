/// Transformers and deep mlps: every site's second and cross and every weight's gradient, predicted
/// beside the means of real passes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "accuracy.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/verify.hpp"
#include "timing.hpp"

namespace scalecalc::bench {
namespace {

struct Named {
  std::string name;
  ModelSpec spec;
};

ModelSpec transformer(Placement placement, NormKind norm, const std::string& activation) {
  ModelSpec spec;
  spec.placement = placement;
  spec.norm = norm;
  spec.layers = 12;
  spec.width = 128;
  spec.ffn = 256;
  spec.heads = 4;
  spec.sequence = 24;
  spec.gated = activation == "silu";
  spec.activation = activation;
  return spec;
}

Named of_scheme(const std::string& scheme, NormKind norm, const std::string& activation) {
  const Placement placement = scheme == "deepnorm" ? Placement::post : placement_from(scheme);
  ModelSpec spec = transformer(placement, norm, activation);
  if (scheme == "deepnorm") {
    spec.alpha = parse("(2*N)^(1/4)");
    spec.lambda = parse("(8*N)^(-1/4)");
  }
  return {scheme + ", " + to_string(norm) + ", " + (spec.gated ? "swiglu" : activation), spec};
}

/// One factor at a time around gelu with layernorm, where all together would take hours.
std::vector<Named> transformers(const std::string& scheme) {
  std::vector<Named> all;
  for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm})
    for (const char* activation : {"relu", "gelu", "silu"})
      all.push_back(of_scheme(scheme, norm, activation));
  const Named base = of_scheme(scheme, NormKind::layernorm, "gelu");
  const auto vary = [&](const char* how, auto change) {
    Named varied{base.name + ", " + how, base.spec};
    change(varied.spec);
    all.push_back(varied);
  };
  vary("causal", [](ModelSpec& spec) { spec.causal = true; });
  vary("T = 64", [](ModelSpec& spec) { spec.sequence = 64; });
  vary("d = 256", [](ModelSpec& spec) { spec.width = 256; });
  vary("32 layers", [](ModelSpec& spec) { spec.layers = 32; });
  vary("64 layers", [](ModelSpec& spec) { spec.layers = 64; });
  vary("2 kv heads", [](ModelSpec& spec) { spec.kv_heads = 2; });
  vary("d = 512, T = 128, causal", [](ModelSpec& spec) {
    spec.layers = 6;
    spec.width = 512;
    spec.sequence = 128;
    spec.causal = true;
  });
  return all;
}

/// He's weights keep the rectifiers' second moment, Lecun's let that of the others settle or fall.
std::vector<Named> mlps() {
  std::vector<Named> all;
  const auto add = [&](const char* activation, const char* scheme) {
    ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
    spec.layers = 50;
    spec.width = spec.features = 256;
    spec.sequence = 8;
    spec.activation = activation;
    spec.init.scheme = scheme;
    all.push_back({activation, spec});
  };
  for (const char* activation : {"relu", "leaky_relu", "prelu"}) add(activation, "he");
  for (const char* activation :
       {"gelu", "gelu_tanh", "quick_gelu", "silu", "mish", "hard_swish", "tanh", "erf", "sin",
        "softsign", "hard_tanh", "selu", "elu", "celu", "softplus", "sigmoid"})
    add(activation, "lecun");
  return all;
}

/// Beyond 3 standard errors (that of the prediction's own spread included) and a share of `size`.
bool is_outside(const Comparison& c, double share, double size) {
  return std::abs(c.z) > 3 && std::abs(c.measured - c.predicted) > share * size;
}

struct Tally {
  std::vector<double> second, cross, weights, noise;  ///< percent; cross is relative to second
  int compared = 0, outside = 0, weights_outside = 0;
  double size = 0;  ///< the second moment of the site at hand, which precedes its cross

  void site(const Comparison& c) {
    if (c.quantity == "second") size = c.predicted;
    if (c.quantity != "second" && c.quantity != "cross") return;
    ++compared;
    outside += is_outside(c, 0.02, size) ? 1 : 0;
    if (size > 0)
      (c.quantity == "second" ? second : cross)
          .push_back(100 * std::abs(c.measured - c.predicted) / size);
  }
  void parameter(const Comparison& c) {
    if (c.quantity != "grad_second" || c.predicted == 0) return;
    weights.push_back(100 * std::abs(c.measured / c.predicted - 1));
    noise.push_back(100 * c.standard_error / c.predicted);
    weights_outside += is_outside(c, 0.1, c.predicted) ? 1 : 0;
  }
  void add(const Tally& one) {
    const auto append = [](std::vector<double>& to, const std::vector<double>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    append(second, one.second);
    append(cross, one.cross);
    append(weights, one.weights);
    append(noise, one.noise);
    compared += one.compared;
    outside += one.outside;
    weights_outside += one.weights_outside;
  }
};

void report(const std::string& work, const Tally& tally) {
  const auto line = [&](const char* what, const std::vector<double>& errors, const char* median,
                        const char* largest) {
    if (errors.empty()) return;
    print(work + what + ", median", quantile(errors, 0.5), "%", median);
    print(work + what + ", 90th percentile", quantile(errors, 0.9), "%", "");
    print(work + what + ", largest", quantile(errors, 1), "%", largest);
  };
  line(": second", tally.second, "", "");
  line(": cross, of second", tally.cross, "", "");
  line(": gradient of a weight", tally.weights, "4", "10");
  print(work + ": gradient of a weight, standard error of the passes, median",
        quantile(tally.noise, 0.5), "%", "");
  print(work + ": gradients of " + std::to_string(tally.weights.size()) +
            " weights beyond 3 standard errors and 10%",
        tally.weights_outside, "", "0");
  print(work + ": of " + std::to_string(tally.compared) +
            " second and cross beyond 3 standard errors and 2%",
        tally.outside, "", "0");
}

/// Half of what the median of a weight's error may be, in percent: what is looked for is to be
/// larger than what seeds leave open.
constexpr double wanted_error = 2;
/// Of one network; past them it is as good as a machine of 2 cores knows it in a few minutes.
constexpr int most_seeds = 4000;
constexpr double most_seconds = 120;

/// Tokens that differ by less than single precision shows have no scores there.
bool wants_double(const Trace& predicted) {
  constexpr double least = 1e-9;
  return std::any_of(predicted.sites.begin(), predicted.sites.end(), [](const Site& site) {
    return site.path.ends_with(".q") && site.cross.is_known() &&
           site.second.value - site.cross.value < least * site.second.value;
  });
}

struct Measurement {
  Verification found;
  Tally tally;
  int seeds = 0;
  double seconds = 0;
};

Measurement measured(const Network& network, const Trace& predicted, int seeds, int threads) {
  VerifyOptions options;
  options.seeds = seeds;
  options.threads = threads;
  options.single_precision = !wants_double(predicted);
  Measurement made;
  made.seeds = seeds;
  const auto start = std::chrono::steady_clock::now();
  made.found = verify_network(network, options);
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Comparison& c : made.found.sites) made.tally.site(c);
  for (const Comparison& c : made.found.parameters) made.tally.parameter(c);
  return made;
}

/// First `seeds`, then as many as bring the standard error of half of the weights below what is
/// wanted.
Measurement sharp(const Network& network, int seeds, int threads) {
  PropagateOptions propagation;
  propagation.threads = threads;
  const Trace predicted = propagate(network, propagation);
  Measurement first = measured(network, predicted, seeds, threads);
  if (first.tally.noise.empty()) return first;
  const double ratio = quantile(first.tally.noise, 0.5) / wanted_error;
  const double in_time = most_seconds / std::max(first.seconds / seeds, 1e-6);
  const double more = std::min({1.1 * seeds * ratio * ratio, in_time, double{most_seeds}});
  if (ratio <= 1 || more <= seeds) return first;
  Measurement last = measured(network, predicted, static_cast<int>(more), threads);
  last.seconds += first.seconds;
  return last;
}

void run(const std::string& work, const std::vector<Named>& models, int seeds, int threads) {
  Tally tally;
  double seconds = 0;
  for (const Named& model : models) {
    Measurement one;
    try {
      one = sharp(build_network(model.spec), seeds, threads);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: refused: %s\n", model.name.c_str(), error.what());
      continue;
    }
    tally.add(one.tally);
    seconds += one.seconds;
    std::fprintf(stderr,
                 "%s: %d of %d outside; weights %.2f median, %.2f largest; standard error %.2f; "
                 "verify %zu; %d seeds, %.0f s\n",
                 model.name.c_str(), one.tally.outside, one.tally.compared,
                 quantile(one.tally.weights, 0.5), quantile(one.tally.weights, 1),
                 quantile(one.tally.noise, 0.5), one.found.failures(), one.seeds, one.seconds);
  }
  report(work, tally);
  print(work + ": time", seconds, "s", "");
}

}  // namespace

void grid(int seeds, int threads, const std::string& only) {
  for (const char* scheme : {"deepnorm", "pre", "post", "res-post"})
    if (only.empty() || only == scheme)
      run(std::string("transformers, ") + scheme, transformers(scheme), seeds, threads);
  if (only.empty() || only == "mlp") run("mlps of 50 layers", mlps(), seeds, threads);
}

}  // namespace scalecalc::bench
