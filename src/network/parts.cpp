#include "network/parts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "network/validate.hpp"

namespace scalecalc {
namespace {

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

}  // namespace

Parts::Parts(const ModelSpec& spec) : spec_(spec), values_(size_bindings(spec)) {
  const double alpha = scale(spec.alpha, "alpha", values_);
  values_["lambda"] = scale(spec.lambda, "lambda", values_);
  values_["alpha"] = alpha;
  residual_ = plain_residual(spec, values_);
}

Linear Parts::linear(const std::string& role, const Fan& in, const Fan& out, bool in_branch) const {
  WeightRequest request;
  request.role = role;
  request.in = in;
  request.out = out;
  request.gain = role_gain(spec_, role, in_branch);
  request.variance = scheme_variance(spec_, role, in.symbol, out.symbol);
  request.distribution = spec_.init.distribution;
  request.bias = has_bias(role);
  request.in_branch = in_branch;
  return make_linear(spec_, request, values_);
}

void Parts::drop_path(Residual& sum, std::int64_t block, std::int64_t blocks) const {
  const bool rises = spec_.drop_path_rises && blocks > 1;
  const double rate =
      rises ? spec_.drop_path * static_cast<double>(block) / static_cast<double>(blocks - 1)
            : spec_.drop_path;
  if (rate > 0) sum.body.push_back({Dropout{sum.path + ".drop_path", rate, true}});
}

bool Parts::has_bias(const std::string& role) const {
  const Biases biases = biases_of(spec_);
  if (role == "head") return biases.head;
  if (role == "k") return biases.k;
  if (role == "q" || role == "v") return biases.qkv;
  if (role == "o") return biases.o;
  if (role == "patch") return biases.patch;
  if (role == "router") return false;
  return role.starts_with("ffn") ? biases.ffn : spec_.bias;
}

Linear Parts::head(const Fan& in, const Fan& out) const {
  return at(linear("head", in, out, false), "head");
}

Norm Parts::norm(std::string path, std::int64_t width) const {
  return {std::move(path), spec_.norm,        width,
          spec_.norm_eps,  spec_.norm_affine, spec_.gain_offset && spec_.norm_affine,
          spec_.norm_alpha};
}

Linear at(const Linear& prototype, std::string path) {
  Linear layer = prototype;
  layer.path = std::move(path);
  return layer;
}

}  // namespace scalecalc
