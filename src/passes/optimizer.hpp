#pragma once

#include <optional>
#include <vector>

#include "passes/optimizer_rules.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"
#include "tensor/element_update.hpp"
#include "tensor/newton_schulz.hpp"
#include "tensor/tensor.hpp"

namespace scalecalc::passes {

/// The averages of an optimizer, on the device, and its step on one parameter after the other.
/// Everything is allocated at once; steps allocate nothing.
template <class Real>
class Optimizer {
 public:
  /// Both optimizers of a mixture are made of its whole options: `first` and `second` step what
  /// these say; a parameter of the other has no averages, and no step here.
  enum class Part { all, first, second };
  /// Throws Error(input) for options out of range.
  Optimizer(std::shared_ptr<tensor::Device<Real>> device,
            const std::vector<ParameterInfo>& parameters, OptimizerOptions options,
            Part part = Part::all);

  /// Begins the next step.
  void begin();
  /// What comes before the norm of all gradients is taken: clipping by value.
  void prepare(const tensor::Tensor<Real>& gradient);
  /// Optimizer a parameter; `gradient` is overwritten. `global_norm` is read where
  /// needs_global_norm().
  void apply(std::size_t index, const tensor::Tensor<Real>& theta,
             const tensor::Tensor<Real>& gradient, double global_norm);
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }
  /// The averages of a parameter; those that its rule has not are empty.
  const tensor::Tensor<Real>& first(std::size_t index) const { return states_[index].first; }
  const tensor::Tensor<Real>& second(std::size_t index) const { return states_[index].second; }
  std::size_t bytes() const { return bytes_; }

 private:
  /// `first` and `second` are the averages of g and g^2; where factored, of its sums by row and
  /// column.
  struct State {
    OptimizerRule rule;
    bool factored = false;
    std::int64_t rows = 0, columns = 0;
    tensor::Tensor<Real> first, second;
    ParameterFactors factors = {};
  };
  /// What one step on one parameter uses: its rate with the schedule, weight_decay and eps.
  struct Numbers {
    double rate = 0, weight_decay = 0, eps = 0;
    double decay() const { return rate * weight_decay; }
  };

  State make_state(const ParameterInfo& info, Part part);
  tensor::Tensor<Real> zeros(std::int64_t rows, std::int64_t columns);
  Numbers numbers_of(const State& state) const;
  double norm(const tensor::Tensor<Real>& x) const;
  void run(const tensor::ElementUpdate& update, const State& state,
           const tensor::Tensor<Real>& theta, const tensor::Tensor<Real>& gradient);
  /// theta -= rate step + decay theta.
  void descend(double rate, double decay, const tensor::Tensor<Real>& theta, Real* step);
  tensor::ElementUpdate heavy_ball(tensor::ElementRule rule, const Numbers& numbers) const;
  /// At `rate`, which is that of `numbers` but where the step is scaled afterwards.
  tensor::ElementUpdate adam(tensor::ElementRule rule, const Numbers& numbers, double rate) const;
  void lamb(const State& state, const Numbers& numbers, const tensor::Tensor<Real>& theta,
            const tensor::Tensor<Real>& gradient);
  void lars(const State& state, const Numbers& numbers, const tensor::Tensor<Real>& theta,
            const tensor::Tensor<Real>& gradient);
  void adafactor(const State& state, const Numbers& numbers, const tensor::Tensor<Real>& theta,
                 const tensor::Tensor<Real>& gradient);
  void muon(const State& state, const Numbers& numbers, const tensor::Tensor<Real>& theta,
            const tensor::Tensor<Real>& gradient);

  std::shared_ptr<tensor::Device<Real>> device_;
  OptimizerOptions options_;
  std::vector<State> states_;
  std::optional<tensor::NewtonSchulz<Real>> newton_schulz_;
  std::size_t bytes_ = 0;
  std::int64_t steps_ = 0;
  double schedule_ = 1.0;  ///< its factor at this step
};
extern template class Optimizer<float>;
extern template class Optimizer<double>;

}  // namespace scalecalc::passes
