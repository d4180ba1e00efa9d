#include "tensor/initial.hpp"

#include <cmath>
#include <variant>

#include "tensor/orthogonal.hpp"

namespace scalecalc::tensor {
namespace {

/// Draws each parameter of a layer, in the order of the forward pass.
template <class Real>
class ParameterDrawer {
 public:
  ParameterDrawer(std::uint64_t seed, const std::shared_ptr<Device<Real>>& device,
                  std::vector<Tensor<Real>>& out)
      : seed_(seed), device_(device), out_(out) {}

  void operator()(const Linear& layer) {
    draw(layer.path + ".weight", layer.fan_in, layer.fan_out, layer.std, layer.distribution);
    if (layer.bias) {
      draw(layer.path + ".bias", 1, layer.fan_out, layer.bias_std, Distribution::normal);
    }
  }
  void operator()(const ActivationLayer&) {}
  void operator()(const Norm& layer) {
    if (!layer.affine) return;
    constant(layer.width, Real(1));
    constant(layer.width, Real(0));
  }
  void operator()(const Attention& layer) {
    (*this)(layer.q);
    (*this)(layer.k);
    (*this)(layer.v);
    if (layer.norm) (*this)(*layer.norm);
    (*this)(layer.o);
  }
  void operator()(const Residual& layer) {
    for (const Layer& inner : layer.body) std::visit(*this, inner.op);
    if (layer.norm) (*this)(*layer.norm);
  }
  void operator()(const Embedding& layer) {
    draw(layer.path + ".weight", layer.vocab, layer.width, layer.std, Distribution::normal);
  }

 private:
  Tensor<Real>& add(std::int64_t rows, std::int64_t columns) {
    return out_.emplace_back(device_, rows, columns);
  }
  void constant(std::int64_t width, Real value) {
    device_->fill(width, value, add(1, width).data());
  }
  void draw(const std::string& path, std::int64_t rows, std::int64_t columns, double std,
            Distribution distribution) {
    const Stream stream{seed_, stream_id(path)};
    Tensor<Real>& tensor = add(rows, columns);
    switch (distribution) {
      case Distribution::orthogonal: {
        const std::vector<double> matrix = draw_orthogonal(stream, std, rows, columns);
        const std::vector<Real> rounded(matrix.begin(), matrix.end());
        device_->upload(rounded.data(), tensor.data(), tensor.bytes());
        return;
      }
      case Distribution::normal:
        return device_->draw({Draw::Kind::normal, std, stream}, tensor.size(), tensor.data());
      case Distribution::uniform:
        return device_->draw({Draw::Kind::uniform, std, stream}, tensor.size(), tensor.data());
      case Distribution::truncated_normal:
        return device_->draw({Draw::Kind::truncated_normal, std, stream}, tensor.size(),
                             tensor.data());
    }
  }

  std::uint64_t seed_;
  const std::shared_ptr<Device<Real>>& device_;
  std::vector<Tensor<Real>>& out_;
};

std::vector<double> normal(std::uint64_t seed, std::string_view name, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  fill(Draw{Draw::Kind::normal, 1.0, {seed, stream_id(name)}}, 0, count, values.data());
  return values;
}

template <class Real>
std::vector<Real> gaussian_features(const Network& network, std::uint64_t seed) {
  const std::int64_t width = network.features, length = network.sequence;
  const std::vector<double> common = normal(seed, "input.common", network.batch * width);
  const std::vector<double> own = normal(seed, "input.own", network.batch * length * width);
  const double shared = std::sqrt(network.input_cross);
  const double apart = std::sqrt(network.input_second - network.input_cross);
  std::vector<Real> features(own.size());
  for (std::int64_t token = 0; token < network.batch * length; ++token) {
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(token * width + i);
      const auto of_sequence = static_cast<std::size_t>(token / length * width + i);
      features[at] = static_cast<Real>(shared * common[of_sequence] + apart * own[at]);
    }
  }
  return features;
}

template <class Real>
Tensor<std::int32_t> indices(const Stream& stream, std::int64_t bound, std::int64_t count,
                             const std::shared_ptr<Device<Real>>& device) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  fill_indices(stream, bound, count, values.data());
  Tensor<std::int32_t> tensor(device, count, 1);
  device->upload(values.data(), tensor.data(), tensor.bytes());
  return tensor;
}

}  // namespace

template <class Real>
std::vector<Tensor<Real>> draw_parameters(const Network& network, std::uint64_t seed,
                                          const std::shared_ptr<Device<Real>>& device) {
  std::vector<Tensor<Real>> tensors;
  ParameterDrawer<Real> drawer(seed, device, tensors);
  for (const Layer& layer : network.layers) std::visit(drawer, layer.op);
  return tensors;
}

template <class Real>
Data<Real> draw_data(const Network& network, std::uint64_t seed,
                     const std::shared_ptr<Device<Real>>& device) {
  const std::int64_t tokens = network.batch * network.sequence;
  Data<Real> data;
  data.targets = indices({seed, stream_id("targets")}, network.classes, tokens, device);
  if (network.input == InputKind::tokens) {
    const std::int64_t vocab = std::get<Embedding>(network.layers.front().op).vocab;
    data.ids = indices({seed, stream_id("input.ids")}, vocab, tokens, device);
  } else {
    const std::vector<Real> features = gaussian_features<Real>(network, seed);
    data.features = Tensor<Real>(device, tokens, network.features);
    device->upload(features.data(), data.features.data(), data.features.bytes());
  }
  return data;
}

template std::vector<Tensor<float>> draw_parameters(const Network&, std::uint64_t,
                                                    const std::shared_ptr<Device<float>>&);
template std::vector<Tensor<double>> draw_parameters(const Network&, std::uint64_t,
                                                     const std::shared_ptr<Device<double>>&);
template Data<float> draw_data(const Network&, std::uint64_t,
                               const std::shared_ptr<Device<float>>&);
template Data<double> draw_data(const Network&, std::uint64_t,
                                const std::shared_ptr<Device<double>>&);

}  // namespace scalecalc::tensor
