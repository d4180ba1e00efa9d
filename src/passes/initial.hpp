#pragma once

#include <vector>

#include "passes/plan.hpp"
#include "tensor/tensor.hpp"

/// What a network starts from: its parameters, inputs and targets, all from one seed. The stream of
/// each is derived from its name, so that the first layers of a deeper network are the same.
namespace scalecalc::passes {

template <class Real>
tensor::Tensor<Real> draw_parameter(const ParameterInfo& info, std::uint64_t seed,
                                    const std::shared_ptr<tensor::Device<Real>>& device);
/// In the order of parameters(network).
template <class Real>
std::vector<tensor::Tensor<Real>> draw_parameters(
    const Network& network, std::uint64_t seed,
    const std::shared_ptr<tensor::Device<Real>>& device);

template <class Real>
struct Data {
  tensor::Tensor<Real> features;            ///< (tokens, features) of gaussian input
  tensor::Tensor<std::int32_t> ids;         ///< (tokens, 1) of token input
  tensor::Tensor<Real> memory;              ///< (memory tokens, features), where something reads it
  tensor::Tensor<std::int32_t> memory_ids;  ///< (memory tokens, 1) that an encoder reads
  tensor::Tensor<Real> condition;           ///< (sequences, features), where modulations read it
  tensor::Tensor<std::int32_t> labels;      ///< (sequences, 1) of the condition, where it has any
  tensor::Tensor<std::int32_t> targets;     ///< (rows of the logits, 1) of cross-entropy
  tensor::Tensor<Real> values;              ///< (rows of the logits, classes) of mse
};
/// Gaussian tokens are x_t = sqrt(cross) common + sqrt(second - cross) own_t for each feature of a
/// sequence, so that E[x_t^2] = second and E[x_t x_s] = cross; sequences are independent.
template <class Real>
Data<Real> draw_data(const Plan& plan, std::uint64_t seed,
                     const std::shared_ptr<tensor::Device<Real>>& device);

}  // namespace scalecalc::passes
