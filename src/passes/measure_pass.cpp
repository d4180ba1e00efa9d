#include "passes/measure_pass.hpp"

namespace scalecalc::passes {
namespace {

/// What a pass has done of its multiplications: a weight is used once a token on the way forward
/// and twice on the way back, and takes some to be drawn.
class WorkMeter {
 public:
  WorkMeter(const Plan& plan, const std::function<void(double)>& report)
      : parameters_(plan.parameters), report_(report) {
    const double tokens = static_cast<double>(plan.network.batch * plan.network.sequence);
    double all = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) all += size(i);
    drawn_ = kDraw / (kDraw + 3 * tokens);
    forward_ = tokens / (kDraw + 3 * tokens) / all;
  }
  void draw_all() { add(drawn_); }
  void forward(std::size_t index) { add(forward_ * size(index)); }
  void backward(std::size_t index) { add(2 * forward_ * size(index)); }

 private:
  static constexpr double kDraw = 16;  // of a normal number, in multiplications

  double size(std::size_t index) const {
    return static_cast<double>(parameters_[index].rows * parameters_[index].columns);
  }
  void add(double share) { report_(done_ += share); }

  const std::vector<ParameterInfo>& parameters_;
  const std::function<void(double)>& report_;
  double drawn_ = 0, forward_ = 0, done_ = 0;
};

template <class Real>
class SiteMeter final : public Observer<Real> {
 public:
  SiteMeter(tensor::Device<Real>& device, std::int64_t sequences, WorkMeter& work,
            MeasuredPass& out)
      : device_(device), sequences_(sequences), work_(work), out_(out) {}

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
  void parameter(std::size_t index) override { work_.forward(index); }

 private:
  tensor::Moments moments(const tensor::Tensor<Real>& tensor) {
    return device_.moments({sequences_, tensor.rows() / sequences_, tensor.columns()},
                           tensor.data());
  }

  tensor::Device<Real>& device_;
  std::int64_t sequences_;
  WorkMeter& work_;
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
                          const std::function<void(double)>& between) {
  tensor::Device<Real>& on = *device;
  const std::int64_t sequences = plan->network.batch;
  WorkMeter work(*plan, between);
  Model<Real> model(plan, seed, std::move(device), recompute);
  MeasuredPass result;
  result.parameters.resize(model.parameters().size());
  work.draw_all();
  SiteMeter<Real> meter(on, sequences, work, result);
  const auto measure = [&](std::size_t index, const tensor::Tensor<Real>& gradient) {
    work.backward(index);
    result.parameters[index].second = mean_square(on, model.parameter(index));
    result.parameters[index].grad_second = mean_square(on, gradient);
  };
  result.loss = model.backward(measure, &meter);
  return result;
}
template MeasuredPass measure_pass(std::shared_ptr<const Plan>, std::uint64_t,
                                   std::shared_ptr<tensor::Device<float>>, bool,
                                   const std::function<void(double)>&);
template MeasuredPass measure_pass(std::shared_ptr<const Plan>, std::uint64_t,
                                   std::shared_ptr<tensor::Device<double>>, bool,
                                   const std::function<void(double)>&);

}  // namespace scalecalc::passes
