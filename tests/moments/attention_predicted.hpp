#pragma once

#include <doctest/doctest.h>

#include "attention_simulation.hpp"
#include "moments/attention_backward.hpp"
#include "moments/positions.hpp"

/// The rules of one layer of attention beside its simulation.
namespace scalecalc::testing {

using namespace scalecalc::moments;

inline Linear linear(const std::string& path, int fan_in, int fan_out, double std) {
  Linear layer;
  layer.path = path;
  layer.fan_in = fan_in;
  layer.fan_out = fan_out;
  layer.std = std;
  return layer;
}

inline Attention attention(const AttentionCase& of) {
  Attention layer;
  layer.path = "attn";
  layer.heads = of.heads;
  layer.kv_heads = of.kv_heads;
  layer.head_width = of.head_width();
  layer.causal = of.causal;
  layer.over_memory = of.memory > 0;
  layer.qk_norm = of.qk_norm;
  layer.qk_norm_all = of.qk_norm_all;
  layer.qk_norm_eps = of.qk_norm_eps;
  layer.scale = of.score_scale();
  layer.dropout = of.dropout;
  const int kv = of.kv_heads * of.head_width();
  const double std = 1 / std::sqrt(static_cast<double>(of.width));
  layer.q = linear("attn.q", of.width, of.width, of.q_std * std);
  layer.k = linear("attn.k", of.width, kv, std);
  layer.v = linear("attn.v", of.width, kv, std);
  for (Linear* biased : {&layer.q, &layer.k}) {
    biased->bias = of.bias > 0;
    biased->bias_std = std::sqrt(of.bias);
  }
  return layer;
}

/// Gaussian features: x_t.x_u/d fluctuates by D^2/d once centred.
template <class X>
Signal<X> signal(X x, const AttentionCase& of, int tokens, double cosine) {
  Signal<X> out;
  out.x = std::move(x);
  out.width = of.width;
  out.tokens = tokens;
  out.overlap = {(1 - cosine) / std::sqrt(static_cast<double>(of.width)), 0};
  out.normalised = of.normalised;
  if (!of.normalised) out.spread.token_variance = 2 / static_cast<double>(of.width);
  return out;
}

/// Those of an RMS norm of Gaussian tokens lose (1 - c^2)/(2 d) of c
/// (docs/theory/layers.md#norm-tokens).
inline double cosine_of(const AttentionCase& of, double c) {
  return of.normalised ? c * (1 - (1 - c * c) / (2.0 * of.width)) : c;
}

struct Predicted {
  std::map<std::string, double> values, truncation;
};

inline void add(Predicted& out, const std::string& name, const Alike<double>& x,
                double truncation) {
  out.values[name + ".second"] = x.second;
  out.values[name + ".cross"] = x.cross;
  out.truncation[name + ".second"] = truncation * std::abs(x.second);
  out.truncation[name + ".cross"] = truncation * std::max(std::abs(x.cross), std::abs(x.second));
}
inline void add(Predicted& out, const std::string& name, const PerPosition& x, double truncation) {
  add(out, name, average(x), truncation);
  const auto one = [&](const std::string& entry, double value, double scale) {
    out.values[name + entry] = value;
    out.truncation[name + entry] = truncation * std::abs(scale);
  };
  const Eigen::Index last = x.second.size() - 1;
  for (Eigen::Index t = 0; t <= last; ++t)
    one("[" + std::to_string(t) + "]", x.second[t], x.second[t]);
  const Eigen::Index early = std::min<Eigen::Index>(1, last);
  one("[early]", x.cross(early, last), std::sqrt(x.second[early] * x.second[last]));
  one("[late]", x.cross(last / 2, last), std::sqrt(x.second[last / 2] * x.second[last]));
}

/// What comes to the first of the attentions before by its scores alone.
template <class X>
void add_before(Predicted& out, Numbers& numbers, const Attention& layer,
                const AttentionRecord<Numbers, X>& record, const X& gradient,
                std::optional<ScoreGradient<X>>& scores) {
  const auto back = attention_backward(numbers, layer, record, scaled(gradient, 0), 0, {}, &scores);
  add(out, "q_before", back.q, back.q_truncation);
  add(out, "k_before", back.k, back.k_truncation);
  out.values["q_before_weight"] = back.q_weight;
  out.truncation["q_before_weight"] = back.q_weight * back.q_truncation;
  out.values["k_before_weight"] = back.k_weight;
  out.truncation["k_before_weight"] = back.k_weight * back.k_truncation;
}

template <class X>
Predicted predict(const AttentionCase& of, const Signal<X>& input, const Signal<X>* memory,
                  const X& gradient) {
  Numbers numbers{PropagateOptions{}};
  const std::string site = "attn";
  numbers.enter(site);
  const Attention layer = attention(of);
  const Counts counts{static_cast<double>(of.tokens), 1};
  std::optional<ScoreSum<X>> sum_of_scores;
  std::optional<ScoreGradient<X>> gradient_of_scores;
  const bool adds = of.before > 0;
  AttentionForward<AttentionRecord<Numbers, X>, X> first;
  for (int i = 0; i < of.before; ++i) {
    auto made = attention_forward(numbers, layer, input, memory, counts, &sum_of_scores);
    if (i == 0) first = std::move(made);
  }
  const auto forward =
      attention_forward(numbers, layer, input, memory, counts, adds ? &sum_of_scores : nullptr);
  const X behind = sum(gradient, scaled(without_mean(forward.mix.x), of.aligned * of.aligned));
  const auto backward = attention_backward(numbers, layer, forward.record, behind, of.aligned, {},
                                           adds ? &gradient_of_scores : nullptr);
  Predicted out;
  if (adds) add_before(out, numbers, layer, first.record, gradient, gradient_of_scores);
  add(out, "mix", forward.mix.x, forward.mix.truncation.second);
  add(out, "q", backward.q, backward.q_truncation);
  add(out, "k", backward.k, backward.k_truncation);
  add(out, "v", backward.v, backward.v_truncation);
  add(out, "input", backward.input, backward.truncation.second + backward.q_truncation);
  const auto weight = [&](const std::string& name, double value, double truncation) {
    out.values[name] = value;
    out.truncation[name] = value * truncation;
  };
  weight("q_weight", backward.q_weight, backward.q_truncation);
  weight("k_weight", backward.k_weight, backward.k_truncation);
  if (of.bias > 0 && backward.k_sums) {
    const double all =
        pair_sum(*backward.k_sums, forward.record.counts.keys, 1.0) + backward.k_sum_along;
    weight("k_bias", all, backward.k_truncation + backward.k_sum_omitted / all);
  }
  weight("v_weight", backward.v_weight, backward.v_truncation + backward.v_weight_truncation);
  return out;
}

inline Alike<double> moments_of(double second, double cross) {
  return {0, second, cross, 0};
}

inline Predicted predict(const AttentionCase& of) {
  const double c = cosine_of(of, of.cosine);
  const Alike<double> tokens = moments_of(1, c), gradient = moments_of(1, of.gradient_cross);
  if (of.causal) {
    const auto positions = make_positions(of.tokens, true);
    return predict<PerPosition>(of, signal(spread_over(tokens, positions, 1), of, of.tokens, c),
                                nullptr, spread_over(gradient, positions, 1));
  }
  const Signal<Alike<double>> input = signal(tokens, of, of.tokens, c);
  if (of.memory == 0) return predict<Alike<double>>(of, input, nullptr, gradient);
  const double other = cosine_of(of, of.memory_cosine);
  const Signal<Alike<double>> memory = signal(moments_of(1, other), of, of.memory, other);
  return predict(of, input, &memory, gradient);
}

inline void compare(const AttentionCase& of, int draws, std::uint64_t seed) {
  const auto measured = AttentionSimulation(of, seed).run(draws);
  const Predicted predicted = predict(of);
  for (const auto& entry : measured) {
    const std::string& name = entry.first;
    const Sample& sample = entry.second;
    CAPTURE(name);
    REQUIRE(predicted.values.count(name) == 1);
    const double value = predicted.values.at(name);
    CHECK(std::abs(sample.mean() - value) <=
          5 * sample.standard_error() + predicted.truncation.at(name));
  }
}

}  // namespace scalecalc::testing
