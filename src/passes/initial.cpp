#include "passes/initial.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "tensor/orthogonal.hpp"

namespace scalecalc::passes {

using tensor::Device;
using tensor::Draw;
using tensor::stream_id;
using tensor::Tensor;
namespace {

Draw::Kind kind_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::uniform: return Draw::Kind::uniform;
    case Distribution::truncated_normal: return Draw::Kind::truncated_normal;
    case Distribution::normal:
    case Distribution::orthogonal: break;
  }
  return Draw::Kind::normal;
}

std::vector<double> normal(std::uint64_t seed, std::string_view name, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  tensor::fill(Draw{Draw::Kind::normal, 1.0, {seed, stream_id(name)}}, 0, count, values.data());
  return values;
}

/// Rows of Gaussian features with these moments; `name` tells two such draws apart.
struct TokenMoments {
  std::string name;
  std::int64_t sequences, length, width;
  double second, cross;
};

template <class Real>
Tensor<Real> gaussian_tokens(const TokenMoments& want, std::uint64_t seed,
                             const std::shared_ptr<Device<Real>>& device) {
  const std::int64_t rows = want.sequences * want.length, width = want.width;
  const std::vector<double> common = normal(seed, want.name + ".common", want.sequences * width);
  const std::vector<double> own = normal(seed, want.name + ".own", rows * width);
  const double shared = std::sqrt(want.cross), apart = std::sqrt(want.second - want.cross);
  std::vector<Real> features(own.size());
  for (std::int64_t token = 0; token < rows; ++token) {
    for (std::int64_t i = 0; i < width; ++i) {
      const auto at = static_cast<std::size_t>(token * width + i);
      const auto of_sequence = static_cast<std::size_t>(token / want.length * width + i);
      features[at] = static_cast<Real>(shared * common[of_sequence] + apart * own[at]);
    }
  }
  Tensor<Real> tensor(device, rows, width);
  device->upload(features.data(), tensor.data(), tensor.bytes());
  return tensor;
}

template <class Real>
Tensor<Real> gaussian_targets(const Plan& plan, std::uint64_t seed,
                              const std::shared_ptr<Device<Real>>& device) {
  Tensor<Real> targets(device, plan.outputs(), plan.network.classes);
  device->draw(
      {Draw::Kind::normal, std::sqrt(plan.network.target_second), {seed, stream_id("targets")}},
      targets.size(), targets.data());
  return targets;
}

Tensor<std::int32_t> upload(const std::vector<std::int32_t>& values,
                            const std::shared_ptr<tensor::Memory>& device) {
  Tensor<std::int32_t> tensor(device, static_cast<std::int64_t>(values.size()), 1);
  device->upload(values.data(), tensor.data(), tensor.bytes());
  return tensor;
}

std::vector<std::int32_t> uniform_indices(const tensor::Stream& stream, std::int64_t bound,
                                          std::int64_t count) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  tensor::fill_indices(stream, bound, count, values.data());
  return values;
}

/// Word k = 0, 1, ... with a probability in proportion to (k + 1)^-zipf.
std::vector<std::int32_t> zipf_indices(const tensor::Stream& stream, double zipf,
                                       std::int64_t bound, std::int64_t count) {
  std::vector<double> cumulative(static_cast<std::size_t>(bound));
  double sum = 0.0;
  for (std::size_t k = 0; k < cumulative.size(); ++k) {
    sum += std::pow(static_cast<double>(k + 1), -zipf);
    cumulative[k] = sum;
  }
  std::vector<double> uniform(static_cast<std::size_t>(count));
  tensor::fill_uniform(stream, 0, count, uniform.data());
  std::vector<std::int32_t> values;
  values.reserve(uniform.size());
  for (const double u : uniform) {
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end() - 1, u * sum);
    values.push_back(static_cast<std::int32_t>(found - cumulative.begin()));
  }
  return values;
}

/// Of so many tokens in each sequence; `name` tells two such draws apart.
std::vector<std::int32_t> token_ids(const Network& network, const std::string& name,
                                    std::int64_t vocab, std::int64_t tokens, std::uint64_t seed) {
  const tensor::Stream stream{seed, stream_id(name)};
  const std::int64_t count = network.batch * tokens;
  return network.zipf > 0.0 ? zipf_indices(stream, network.zipf, vocab, count)
                            : uniform_indices(stream, vocab, count);
}

}  // namespace

template <class Real>
Tensor<Real> draw_parameter(const ParameterInfo& info, std::uint64_t seed,
                            const std::shared_ptr<Device<Real>>& device) {
  Tensor<Real> tensor(device, info.rows, info.columns);
  const tensor::Stream stream{seed, stream_id(info.path)};
  if (!info.distribution) {
    device->fill(tensor.size(), static_cast<Real>(info.constant), tensor.data());
  } else if (*info.distribution == Distribution::orthogonal) {
    const std::vector<double> matrix =
        tensor::draw_orthogonal(stream, info.std, info.rows, info.columns);
    const std::vector<Real> rounded(matrix.begin(), matrix.end());
    device->upload(rounded.data(), tensor.data(), tensor.bytes());
  } else {
    device->draw({kind_of(*info.distribution), info.std, stream}, tensor.size(), tensor.data());
  }
  return tensor;
}

template <class Real>
std::vector<Tensor<Real>> draw_parameters(const Network& network, std::uint64_t seed,
                                          const std::shared_ptr<Device<Real>>& device) {
  std::vector<Tensor<Real>> tensors;
  for (const ParameterInfo& info : parameters(network))
    tensors.push_back(draw_parameter(info, seed, device));
  return tensors;
}

template <class Real>
Data<Real> draw_data(const Plan& plan, std::uint64_t seed,
                     const std::shared_ptr<Device<Real>>& device) {
  const Network& network = plan.network;
  Data<Real> data;
  if (network.loss == Loss::mse) {
    data.values = gaussian_targets<Real>(plan, seed, device);
  } else {
    data.targets = upload(
        uniform_indices({seed, stream_id("targets")}, network.classes, plan.outputs()), device);
  }
  if (network.input == InputKind::tokens) {
    const std::int64_t vocab = std::get<Embedding>(network.layers.front().op).vocab;
    data.ids = upload(token_ids(network, "input.ids", vocab, network.sequence, seed), device);
  } else {
    data.features =
        gaussian_tokens<Real>({"input", network.batch, network.sequence, network.features,
                               network.input_second, network.input_cross},
                              seed, device);
  }
  if (plan.checked.memory_width > 0) {
    data.memory = gaussian_tokens<Real>(
        {"memory", network.batch, network.memory_sequence, plan.checked.memory_width,
         network.memory_second, network.memory_cross},
        seed, device);
  }
  if (plan.checked.condition_width > 0)
    // Of the conditions of two samples E e_a e_b is what tokens of one sequence have.
    data.condition =
        gaussian_tokens<Real>({"condition", 1, network.batch, network.condition_features,
                               network.condition_second, network.condition_cross},
                              seed, device);
  if (plan.checked.condition_classes > 0)
    data.labels = upload(uniform_indices({seed, stream_id("condition.labels")},
                                         plan.checked.condition_classes, network.batch),
                         device);
  if (plan.checked.memory_vocab > 0)
    data.memory_ids = upload(
        token_ids(network, "memory.ids", plan.checked.memory_vocab, network.memory_sequence, seed),
        device);
  return data;
}

template Tensor<float> draw_parameter(const ParameterInfo&, std::uint64_t,
                                      const std::shared_ptr<Device<float>>&);
template std::vector<Tensor<float>> draw_parameters(const Network&, std::uint64_t,
                                                    const std::shared_ptr<Device<float>>&);
template std::vector<Tensor<double>> draw_parameters(const Network&, std::uint64_t,
                                                     const std::shared_ptr<Device<double>>&);
template Data<float> draw_data(const Plan&, std::uint64_t, const std::shared_ptr<Device<float>>&);
template Data<double> draw_data(const Plan&, std::uint64_t, const std::shared_ptr<Device<double>>&);

}  // namespace scalecalc::passes
