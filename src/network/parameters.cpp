#include <variant>

#include "scalecalc/network.hpp"

namespace scalecalc {
namespace {

/// Calls `found(path of the layer, suffix, info without its path)` for each parameter, in the order
/// of the forward pass.
template <class Found>
struct Walk {
  Found found;

  void operator()(const Linear& layer) const {
    ParameterInfo info;
    info.role = layer.role;
    info.rows = layer.fan_in;
    info.columns = layer.fan_out;
    info.std = layer.std;
    info.in_branch = layer.in_branch;
    found(layer.path, ".weight", info);
    if (!layer.bias) return;
    info.rows = 1;
    info.std = layer.bias_std;
    info.is_matrix = false;
    found(layer.path, ".bias", info);
  }
  void operator()(const ActivationLayer&) const {}
  void operator()(const Norm& layer) const {
    if (!layer.affine) return;
    ParameterInfo info;
    info.role = "norm";
    info.rows = 1;
    info.columns = layer.width;
    info.is_matrix = false;
    found(layer.path, ".gain", info);
    found(layer.path, ".shift", info);
  }
  void operator()(const Attention& layer) const {
    (*this)(layer.q);
    (*this)(layer.k);
    (*this)(layer.v);
    if (layer.norm) (*this)(*layer.norm);
    (*this)(layer.o);
  }
  void operator()(const Residual& layer) const {
    for (const Layer& inner : layer.body) std::visit(*this, inner.op);
    if (layer.norm) (*this)(*layer.norm);
  }
  void operator()(const Embedding& layer) const {
    ParameterInfo info;
    info.role = "embedding";
    info.rows = layer.vocab;
    info.columns = layer.width;
    info.std = layer.std;
    found(layer.path, ".weight", info);
  }
};

template <class Found>
void walk(const Network& network, Found found) {
  const Walk<Found> visitor{std::move(found)};
  for (const Layer& layer : network.layers) std::visit(visitor, layer.op);
}

}  // namespace

std::vector<ParameterInfo> parameters(const Network& network) {
  std::vector<ParameterInfo> all;
  walk(network, [&](const std::string& path, const char* suffix, const ParameterInfo& info) {
    all.push_back(info);
    all.back().path = path + suffix;
  });
  return all;
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  walk(network, [&](const std::string&, const char*, const ParameterInfo& info) {
    count += info.rows * info.columns;
  });
  return count;
}

}  // namespace scalecalc
