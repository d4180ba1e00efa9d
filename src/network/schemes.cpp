#include "network/schemes.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc {
namespace {

bool ends_branch(const std::string& role) {
  return role == "o" || role == "ffn_out";
}

}  // namespace

const std::vector<std::string>& scheme_names() {
  static const std::vector<std::string> names = {"lecun", "xavier", "he", "gpt2", "bert", "t5"};
  return names;
}

bool is_transformer_scheme(const std::string& scheme) {
  return scheme == "gpt2" || scheme == "bert" || scheme == "t5";
}

const std::vector<std::string>& gain_roles(ModelSpec::Kind kind) {
  static const std::vector<std::string> transformer = {"q",      "k",       "v",   "o",
                                                       "ffn_in", "ffn_out", "head"};
  static const std::vector<std::string> mlp = {"linear", "head"};
  return kind == ModelSpec::Kind::mlp ? mlp : transformer;
}

Expr default_gain(const std::string& role, bool in_branch) {
  if (!in_branch || role == "q" || role == "k") return 1;
  return Expr::symbol("lambda");
}

/// lecun: LeCun et al. 1998; xavier: Glorot and Bengio 2010; he: He et al. 2015;
/// gpt2: 0.02, output projections 0.02/sqrt(2N) (Radford et al. 2019);
/// bert: 0.02 (Devlin et al. 2019); t5: q 1/sqrt(d d_h), others 1/sqrt(fan_in), for scores that are
/// not divided by sqrt(d_h) (Raffel et al. 2020).
double scheme_std(const ModelSpec& spec, const std::string& role, std::int64_t fan_in,
                  std::int64_t fan_out) {
  const std::string& scheme = spec.init.scheme;
  const double in = static_cast<double>(fan_in), out = static_cast<double>(fan_out);
  if (scheme == "std") return spec.init.std;
  if (scheme == "weight_variance") return std::sqrt(spec.init.weight_variance / in);
  if (scheme == "xavier") return std::sqrt(2 / (in + out));
  if (scheme == "he") return std::sqrt(2 / in);
  if (scheme == "bert") return 0.02;
  if (scheme == "gpt2")
    return ends_branch(role) ? 0.02 / std::sqrt(2 * static_cast<double>(spec.layers)) : 0.02;
  if (scheme == "t5" && role == "q")
    return std::sqrt(static_cast<double>(spec.heads) / (in * static_cast<double>(spec.width)));
  return std::sqrt(1 / in);
}

}  // namespace scalecalc
