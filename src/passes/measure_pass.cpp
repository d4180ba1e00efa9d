#include "passes/measure_pass.hpp"

namespace scalecalc::passes {
namespace {

template <class Real>
class SiteMeter final : public Observer<Real> {
 public:
  SiteMeter(tensor::Device<Real>& device, std::int64_t sequences, MeasuredPass& out)
      : device_(device), sequences_(sequences), out_(out) {}

  std::size_t value(const std::string& path, const char* kind,
                    const tensor::Tensor<Real>& value) override {
    out_.names.push_back({path, kind, value.columns(), value.rows() / sequences_});
    out_.values.push_back(moments(value));
    out_.gradients.push_back({0.0, 0.0, 0.0});
    return out_.names.size() - 1;
  }
  void gradient(std::size_t site, const tensor::Tensor<Real>& gradient) override {
    out_.gradients[site] = moments(gradient);
  }

 private:
  tensor::Moments moments(const tensor::Tensor<Real>& tensor) {
    return device_.moments({sequences_, tensor.rows() / sequences_, tensor.columns()},
                           tensor.data());
  }

  tensor::Device<Real>& device_;
  std::int64_t sequences_;
  MeasuredPass& out_;
};

template <class Real>
double mean_square(tensor::Device<Real>& device, const tensor::Tensor<Real>& tensor) {
  return device.dot(tensor.size(), tensor.data(), tensor.data()) /
         static_cast<double>(tensor.size());
}

}  // namespace

template <class Real>
MeasuredPass measure_pass(std::shared_ptr<const Plan> plan, std::uint64_t seed,
                          std::shared_ptr<tensor::Device<Real>> device, bool recompute,
                          const std::function<void()>& between) {
  tensor::Device<Real>& on = *device;
  const std::int64_t sequences = plan->network.batch;
  Model<Real> model(std::move(plan), seed, std::move(device), recompute);
  MeasuredPass result;
  result.parameters.resize(model.parameters().size());
  SiteMeter<Real> meter(on, sequences, result);
  const auto measure = [&](std::size_t index, const tensor::Tensor<Real>& gradient) {
    between();
    result.parameters[index].second = mean_square(on, model.parameter(index));
    result.parameters[index].grad_second = mean_square(on, gradient);
  };
  result.loss = model.backward(measure, &meter);
  return result;
}
template MeasuredPass measure_pass(std::shared_ptr<const Plan>, std::uint64_t,
                                   std::shared_ptr<tensor::Device<float>>, bool,
                                   const std::function<void()>&);
template MeasuredPass measure_pass(std::shared_ptr<const Plan>, std::uint64_t,
                                   std::shared_ptr<tensor::Device<double>>, bool,
                                   const std::function<void()>&);

}  // namespace scalecalc::passes
