#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/schemes.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

constexpr std::int64_t max_parameters = 2000000000;

double scale(const std::optional<Expr>& formula, const std::string& name, const Bindings& values) {
  if (!formula)
    throw Error(ErrorKind::input, name + " is \"auto\", which has to be solved for an optimizer",
                {}, "give a number or a formula in N, such as (2*N)^(1/2)");
  const double value = formula_value(*formula, values, name);
  if (!std::isfinite(value) || value <= 0)
    throw Error(ErrorKind::input,
                fmt::format("{} must be positive and finite, got {} = {}", name,
                            to_string(*formula), value),
                {}, "give a number or a formula in N, such as (2*N)^(1/2)");
  return value;
}

/// Lays out one spec; formulas are evaluated once, at N = spec.layers.
class Builder {
 public:
  explicit Builder(const ModelSpec& spec) : spec_(spec) {
    values_["N"] = static_cast<double>(spec.layers);
    alpha_ = scale(spec.alpha, "alpha", values_);
    values_["lambda"] = scale(spec.lambda, "lambda", values_);
    for (const std::string& role : gain_roles(spec.kind))
      for (const bool in_branch : {false, true})
        gains_[{role, in_branch}] = gain_value(role, in_branch);
    if (spec.kind == ModelSpec::Kind::transformer)
      attention_scale_ =
          formula_value(spec.attention_scale, attention_bindings(spec), "attention_scale");
  }

  /// The network of the spec's scales with the first `blocks` of its blocks.
  Network build(std::int64_t blocks) const {
    Network network;
    network.input = spec_.input.kind;
    network.sequence = spec_.sequence;
    network.batch = spec_.batch;
    network.features = spec_.kind == ModelSpec::Kind::mlp ? spec_.features : spec_.width;
    network.classes = spec_.vocab;
    network.input_second = spec_.input.second;
    network.input_cross = spec_.input.cross;
    network.reduction = spec_.reduction;
    if (spec_.kind == ModelSpec::Kind::mlp)
      add_mlp(network.layers, blocks);
    else
      add_transformer(network.layers, blocks);
    if (has_final_norm(spec_.placement))
      network.layers.push_back({norm("final_norm", spec_.width)});
    Linear head = linear("head", "head", spec_.width, spec_.vocab, false);
    head.bias = false;
    head.bias_std = 0;
    network.layers.push_back({std::move(head)});
    return network;
  }

 private:
  double gain_value(const std::string& role, bool in_branch) const {
    const auto given = spec_.init.gain.find(role);
    const Expr gain =
        given != spec_.init.gain.end() ? given->second : default_gain(role, in_branch);
    return formula_value(gain, values_, "gain of " + role);
  }

  Linear linear(std::string path, const std::string& role, std::int64_t fan_in,
                std::int64_t fan_out, bool in_branch) const {
    Linear layer;
    layer.path = std::move(path);
    layer.role = role;
    layer.fan_in = fan_in;
    layer.fan_out = fan_out;
    layer.gain = gains_.at({role, in_branch});
    layer.std = layer.gain * scheme_std(spec_, role, fan_in, fan_out);
    layer.distribution = spec_.init.distribution;
    layer.bias = spec_.bias;
    layer.bias_std = std::sqrt(spec_.init.bias_variance);
    layer.in_branch = in_branch;
    return layer;
  }

  Norm norm(std::string path, std::int64_t width) const {
    return {std::move(path), spec_.norm, width, spec_.norm_eps, spec_.norm_affine};
  }

  /// One branch around the stream, with the norms where the placement wants them.
  Residual residual(const std::string& path, std::vector<Layer> body) const {
    Residual sublayer;
    sublayer.path = path;
    const auto norm_first = [&] { body.insert(body.begin(), {norm(path + ".norm", spec_.width)}); };
    switch (spec_.placement) {
      case Placement::post:
        sublayer.skip = alpha_;
        sublayer.norm = norm(path + ".norm", spec_.width);
        break;
      case Placement::pre:
        sublayer.skip = alpha_;
        norm_first();
        break;
      case Placement::res_post:
        sublayer.branch = 1 / alpha_;
        body.push_back({norm(path + ".norm", spec_.width)});
        break;
      case Placement::sandwich:
        sublayer.branch = 1 / alpha_;
        norm_first();
        body.push_back({norm(path + ".out_norm", spec_.width)});
        break;
      case Placement::sub_ln: norm_first(); break;
      case Placement::none: sublayer.skip = alpha_; break;
    }
    sublayer.body = std::move(body);
    return sublayer;
  }

  Residual attention(const std::string& path) const {
    const std::int64_t d = spec_.width;
    Attention layer;
    layer.path = path;
    layer.heads = spec_.heads;
    layer.head_width = d / spec_.heads;
    layer.causal = spec_.causal;
    layer.scale = attention_scale_;
    layer.q = linear(path + ".q", "q", d, d, true);
    layer.k = linear(path + ".k", "k", d, d, true);
    layer.v = linear(path + ".v", "v", d, d, true);
    layer.o = linear(path + ".o", "o", d, d, true);
    if (spec_.placement == Placement::sub_ln) layer.norm = norm(path + ".mix_norm", d);
    std::vector<Layer> body;
    body.push_back({std::move(layer)});
    return residual(path, std::move(body));
  }

  Residual feed_forward(const std::string& path) const {
    std::vector<Layer> body;
    body.push_back({linear(path + ".in", "ffn_in", spec_.width, spec_.ffn, true)});
    body.push_back({ActivationLayer{path + ".act", spec_.activation}});
    if (spec_.placement == Placement::sub_ln) body.push_back({norm(path + ".act_norm", spec_.ffn)});
    body.push_back({linear(path + ".out", "ffn_out", spec_.ffn, spec_.width, true)});
    return residual(path, std::move(body));
  }

  void add_transformer(std::vector<Layer>& layers, std::int64_t blocks) const {
    layers.reserve(static_cast<std::size_t>(2 * blocks + 4));
    if (spec_.input.kind == InputKind::tokens)
      layers.push_back(
          {Embedding{"embedding", spec_.vocab, spec_.width, std::sqrt(spec_.input.second)}});
    if (spec_.placement == Placement::post) layers.push_back({norm("input.norm", spec_.width)});
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::string block = fmt::format("block[{}]", i);
      layers.push_back({attention(block + ".attn")});
      layers.push_back({feed_forward(block + ".ffn")});
    }
  }

  /// Without a placement a plain stack. With one, the first layer maps the features to the width
  /// and each further layer is a branch F(x) = phi(x W).
  void add_mlp(std::vector<Layer>& layers, std::int64_t blocks) const {
    const bool residuals = spec_.placement != Placement::none;
    layers.reserve(static_cast<std::size_t>((residuals ? 1 : 3) * blocks + 4));
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::string path = fmt::format("layer[{}]", i);
      const std::int64_t fan_in = i == 0 ? spec_.features : spec_.width;
      const bool in_branch = !residuals || i > 0;
      std::vector<Layer> step;
      step.push_back({linear(path + ".linear", "linear", fan_in, spec_.width, in_branch)});
      if (!residuals && spec_.norm != NormKind::none)
        step.push_back({norm(path + ".norm", spec_.width)});
      step.push_back({ActivationLayer{path + ".act", spec_.activation}});
      if (residuals && i == 0 && spec_.placement == Placement::post)
        step.push_back({norm(path + ".norm", spec_.width)});
      if (residuals && i > 0)
        layers.push_back({residual(path, std::move(step))});
      else
        std::move(step.begin(), step.end(), std::back_inserter(layers));
    }
  }

  const ModelSpec& spec_;
  double alpha_ = 1, attention_scale_ = 1;
  Bindings values_;
  std::map<std::pair<std::string, bool>, double> gains_;
};

/// The parameters grow by the same number with every block after the first.
void check_parameter_count(const ModelSpec& spec, const Builder& builder) {
  const auto count = [&](std::int64_t blocks) {
    return static_cast<double>(parameter_count(builder.build(blocks)));
  };
  const double one = count(1);
  const double total =
      spec.layers == 1 ? one : one + static_cast<double>(spec.layers - 1) * (count(2) - one);
  if (total > static_cast<double>(max_parameters))
    throw Error(ErrorKind::input,
                fmt::format("a network of {:.0f} parameters is too large: the limit is {}", total,
                            max_parameters),
                {}, fmt::format("use fewer layers than {} or a smaller width", spec.layers));
}

}  // namespace

Network build_network(const ModelSpec& spec) {
  validate(spec);
  const Builder builder(spec);
  check_parameter_count(spec, builder);
  return builder.build(spec.layers);
}

}  // namespace scalecalc
