#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "tensor/tensor.hpp"

/// Reverse-mode differentiation: the forward pass appends operations, backward() walks them in
/// reverse. An operation is destroyed as soon as it has run, and with it the activations that only
/// it kept; a parameter's gradient leaves as soon as the last operation that uses it has run.
namespace scalecalc::tensor {

/// A value of the forward pass. Without a slot no gradient is wanted.
template <class Real>
struct Variable {
  Tensor<Real> value;
  std::int64_t slot = -1;
};

template <class Real>
class Tape {
 public:
  /// Adds to the gradients of the operation's inputs, given that of its output.
  using Backward = std::function<void(Tape&, const Tensor<Real>& output_gradient)>;
  using Sink = std::function<void(std::size_t parameter, const Tensor<Real>& gradient)>;
  using Probe = std::function<void(const Tensor<Real>& gradient)>;

  /// A tape that does not record computes values only.
  Tape(std::shared_ptr<Device<Real>> device, bool recording)
      : device_(std::move(device)), recording_(recording) {}

  Device<Real>& device() const { return *device_; }
  bool recording() const { return recording_; }
  Tensor<Real> make(std::int64_t rows, std::int64_t columns) const {
    return Tensor<Real>(device_, rows, columns);
  }

  Variable<Real> constant(Tensor<Real> value) const { return {std::move(value), -1}; }
  /// Parameter `index`; asking twice for the same index gives the same variable (a tied weight).
  Variable<Real> parameter(std::size_t index, const Tensor<Real>& value);
  /// An input that is no parameter but whose gradient a probe wants.
  Variable<Real> leaf(Tensor<Real> value);
  /// Shows the gradient of `variable` to `probe` once backward() has it whole. A variable without
  /// a slot has none.
  void probe(const Variable<Real>& variable, Probe probe);
  /// The result of an operation on `inputs`. `backward` is dropped when no input wants a gradient.
  Variable<Real> result(Tensor<Real> value, std::initializer_list<const Variable<Real>*> inputs,
                        Backward backward);
  /// An operation whose result is a number, the end of the tape: its output gradient is empty.
  void loss(const Variable<Real>& input, Backward backward);

  /// The gradient to add to (zero at first), or null when none is wanted.
  Real* gradient(std::int64_t slot);
  /// Consumes the tape. Every parameter is handed to the sink exactly once.
  void backward(const Sink& sink);

 private:
  static constexpr std::size_t kNoParameter = static_cast<std::size_t>(-1);
  struct Slot {
    std::int64_t rows = 0, columns = 0;
    std::size_t parameter = kNoParameter;
    int uses = 0;
    bool is_leaf = false;
    Tensor<Real> gradient;
    std::vector<Probe> probes;
  };
  struct Operation {
    std::vector<std::int64_t> inputs;
    std::int64_t output;
    Backward backward;
  };

  std::int64_t add_slot(const Tensor<Real>& value, std::size_t parameter);
  void record(std::initializer_list<const Variable<Real>*> inputs, std::int64_t output,
              Backward backward);
  /// Takes the gradient out of its slot, zero if nothing was added to it, past the probes.
  Tensor<Real> take(std::int64_t slot);
  void release_input(std::int64_t slot, const Sink& sink);

  std::shared_ptr<Device<Real>> device_;
  bool recording_;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> parameter_slots_;
  std::vector<Operation> operations_;
};
extern template class Tape<float>;
extern template class Tape<double>;

}  // namespace scalecalc::tensor
