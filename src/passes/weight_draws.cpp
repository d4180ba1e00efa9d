#include <utility>

#include "passes/initial.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc {

struct WeightDraws::Impl {
  std::vector<ParameterInfo> parameters;
  std::uint64_t seed;
  std::shared_ptr<tensor::Device<float>> device;
};

WeightDraws::WeightDraws(const Network& network, std::uint64_t seed, int threads)
    : impl_(new Impl{scalecalc::parameters(network), seed,
                     tensor::make_device<float>("cpu", threads)}) {}
WeightDraws::~WeightDraws() = default;
WeightDraws::WeightDraws(WeightDraws&&) noexcept = default;
WeightDraws& WeightDraws::operator=(WeightDraws&&) noexcept = default;

std::size_t WeightDraws::size() const {
  return impl_->parameters.size();
}

std::vector<float> WeightDraws::operator()(std::size_t index) const {
  const tensor::Tensor<float> drawn =
      passes::draw_parameter(impl_->parameters.at(index), impl_->seed, impl_->device);
  const auto* values = static_cast<const float*>(impl_->device->host(drawn.data(), drawn.bytes()));
  return {values, values + drawn.size()};
}

}  // namespace scalecalc
