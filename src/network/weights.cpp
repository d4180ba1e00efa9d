#include "network/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/validate.hpp"

namespace scalecalc {
namespace {

using Kind = ModelSpec::Kind;

bool ends_branch(const std::string& role) {
  return role == "o" || role == "ffn_out";
}

/// Fixup (Zhang et al. 2019): with L branches of m matrices the last starts at 0 and the others are
/// multiplied by L^(-1/(2m - 2)). q and k turn the softmax and are none of the m.
Expr fixup_factor(const ModelSpec& spec, const std::string& role) {
  if (ends_branch(role)) return 0;
  if (role == "q" || role == "k") return 1;
  const std::int64_t matrices = role != "v" && spec.gated ? 3 : 2;
  return pow(Expr(sublayers(spec)) * Expr::symbol("N"), Expr(Rational(-1, 2 * matrices - 2)));
}

}  // namespace

const std::vector<std::string>& scheme_names() {
  static const std::vector<std::string> names = {"lecun", "xavier", "he", "gpt2", "bert", "t5"};
  return names;
}

bool is_transformer_scheme(const std::string& scheme) {
  return scheme == "gpt2" || scheme == "bert" || scheme == "t5";
}

const std::vector<std::string>& gain_roles(Kind kind) {
  static const std::vector<std::string> transformer = {
      "q",       "k",    "v",     "o",      "ffn_gate",  "ffn_in",
      "ffn_out", "head", "patch", "router", "condition", "modulation"};
  static const std::vector<std::string> others = {"linear", "head"};
  return kind == Kind::transformer ? transformer : others;
}

std::int64_t sublayers(const ModelSpec& spec) {
  if (spec.kind != Kind::transformer) return 1;
  return spec.cross_attention ? 3 : 2;
}

/// lecun: LeCun et al. 1998; xavier: Glorot and Bengio 2010; he: He et al. 2015;
/// gpt2: 0.02, output projections 0.02/sqrt(number of branches) (Radford et al. 2019);
/// bert: 0.02 (Devlin et al. 2019); t5: q 1/sqrt(d d_h), others 1/sqrt(fan_in), for scores that are
/// not divided by sqrt(d_h) (Raffel et al. 2020).
Expr scheme_variance(const ModelSpec& spec, const std::string& role, const Expr& fan_in,
                     const Expr& fan_out) {
  const std::string& scheme = spec.init.scheme;
  if (scheme == "std") return pow(Expr(Rational::shortest(spec.init.std)), 2);
  if (scheme == "weight_variance")
    return Expr(Rational::shortest(spec.init.weight_variance)) / fan_in;
  if (scheme == "xavier") return 2 / (fan_in + fan_out);
  if (scheme == "he") return 2 / fan_in;
  if (scheme == "bert" || scheme == "gpt2") {
    const Expr variance = Rational(1, 2500);
    if (scheme == "bert" || !ends_branch(role)) return variance;
    return variance / (Expr(sublayers(spec)) * Expr::symbol("N"));
  }
  if (scheme == "t5" && role == "q") return 1 / (fan_in * Expr::symbol("head_width"));
  return 1 / fan_in;
}

Expr role_gain(const ModelSpec& spec, const std::string& role, bool in_branch) {
  const bool fixup = spec.placement == Placement::fixup && in_branch;
  if (role == "modulation" && spec.modulation == AdaptiveNorm::adaln_zero) return 0;
  const Expr factor = fixup ? fixup_factor(spec, role) : Expr(1);
  const auto given = spec.init.gain.find(role);
  if (given != spec.init.gain.end()) return given->second * factor;
  if (!in_branch || role == "q" || role == "k" || role == "ffn_gate") return factor;
  return Expr::symbol("lambda") * factor;
}

/// NTK parametrisation (Jacot et al. 2018): unit variance, and the scale in front of the product.
/// Weights that start at 0 stay there.
Linear make_linear(const ModelSpec& spec, const WeightRequest& request, const Bindings& values) {
  Linear layer;
  layer.role = request.role;
  layer.fan_in = request.in.size;
  layer.fan_out = request.out.size;
  layer.gain = formula_value(request.gain, values, "gain of " + request.role);
  const double scale = std::sqrt(formula_value(request.variance, values, "init"));
  layer.std = layer.gain * scale;
  if (spec.ntk) {
    layer.multiplier = layer.gain == 0 ? scale : layer.std;
    layer.std = layer.gain == 0 ? 0 : 1;
  }
  layer.distribution = request.distribution;
  layer.bias = request.bias;
  layer.bias_std = request.bias ? std::sqrt(spec.init.bias_variance) : 0;
  layer.in_branch = request.in_branch;
  layer.variance_formula = pow(request.gain, 2) * request.variance;
  return layer;
}

}  // namespace scalecalc
