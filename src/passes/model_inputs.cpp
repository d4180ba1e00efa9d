#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "passes/model.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::passes {
namespace {

[[noreturn]] void wrong(std::string message, std::string hint) {
  throw Error(ErrorKind::input, std::move(message), "passes", std::move(hint));
}

void check_indices(const char* name, const std::vector<std::int32_t>& values, std::int64_t count,
                   std::int64_t bound) {
  if (static_cast<std::int64_t>(values.size()) != count) {
    wrong(fmt::format("a batch of {} {}", values.size(), name), fmt::format("give {}", count));
  }
  const auto found = std::ranges::find_if(
      values, [bound](std::int32_t value) { return value < 0 || value >= bound; });
  if (found == values.end()) return;
  wrong(fmt::format("{} {} is {}", name, found - values.begin(), *found),
        fmt::format("they are 0 to {}", bound - 1));
}

bool same_parameters(const std::vector<ParameterInfo>& a, const std::vector<ParameterInfo>& b) {
  return std::ranges::equal(a, b, [](const ParameterInfo& x, const ParameterInfo& y) {
    return x.path == y.path && x.rows == y.rows && x.columns == y.columns;
  });
}

bool same_data(const Plan& a, const Plan& b) {
  const Network &x = a.network, &y = b.network;
  return x.input == y.input && x.loss == y.loss && x.batch == y.batch && x.sequence == y.sequence &&
         x.features == y.features && x.classes == y.classes && a.outputs() == b.outputs() &&
         x.memory_sequence == y.memory_sequence &&
         a.checked.memory_width == b.checked.memory_width &&
         a.checked.condition_width == b.checked.condition_width &&
         a.checked.condition_classes == b.checked.condition_classes &&
         a.checked.memory_vocab == b.checked.memory_vocab;
}

}  // namespace

template <class Real>
void Model<Real>::set_batch(const TokenBatch& batch) {
  const Network& network = plan_->network;
  if (network.input != InputKind::tokens || network.loss != Loss::cross_entropy) {
    wrong("a batch of tokens for a network without tokens or cross-entropy",
          "use an embedding as the first layer, and cross-entropy");
  }
  const std::int64_t vocab = std::get<Embedding>(network.layers.front().op).vocab;
  check_indices("ids", batch.ids, network.batch * network.sequence, vocab);
  check_indices("targets", batch.targets, plan_->outputs(), network.classes);
  const std::int64_t sources = plan_->checked.memory_vocab;
  check_indices("source ids", batch.sources,
                sources > 0 ? network.batch * network.memory_sequence : 0, sources);
  Data<Real>& data = drawn_.data;
  device_->upload(batch.ids.data(), data.ids.data(), data.ids.bytes());
  if (sources > 0)
    device_->upload(batch.sources.data(), data.memory_ids.data(), data.memory_ids.bytes());
  device_->upload(batch.targets.data(), data.targets.data(), data.targets.bytes());
}

template <class Real>
void Model<Real>::set_mask_step(std::uint64_t step) {
  drawn_.mask = step == 0 ? std::string(".mask") : fmt::format(".mask@{}", step);
}

template <class Real>
void Model<Real>::set_network(const Network& network) {
  auto plan = std::make_shared<const Plan>(network);
  if (!same_parameters(plan->parameters, plan_->parameters) || !same_data(*plan, *plan_)) {
    wrong("another network's parameters or data have other shapes",
          "change scales alone: multipliers, ramps, rates of dropout");
  }
  plan_ = std::move(plan);
}

template <class Real>
void Model<Real>::set_parameter(std::size_t index, const Real* values) {
  const tensor::Tensor<Real>& theta = parameter(index);
  device_->upload(values, theta.data(), theta.bytes());
}

template class Model<float>;
template class Model<double>;

}  // namespace scalecalc::passes
