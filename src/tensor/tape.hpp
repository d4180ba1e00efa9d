#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/functions.hpp"
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
  /// phi(source) of an activation: as cheap to make again as to keep (Kept). `phi` outlives the
  /// tape.
  const PointFunction* phi = nullptr;
  Tensor<Real> source = {};
};

template <class Real>
class Tape {
 public:
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
  Tensor<std::int32_t> indices(const std::vector<std::int32_t>& values) const {
    Tensor<std::int32_t> made(device_, static_cast<std::int64_t>(values.size()), 1);
    device_->upload(values.data(), made.data(), made.bytes());
    return made;
  }

  Variable<Real> constant(Tensor<Real> value) const { return {std::move(value), -1}; }
  /// Parameter `index`; asking twice for the same index gives the same variable (a tied weight).
  Variable<Real> parameter(std::size_t index, const Tensor<Real>& value);
  /// An input that is no parameter but whose gradient is wanted: by a probe, or left in `gradient`.
  Variable<Real> leaf(Tensor<Real> value, Tensor<Real>* gradient = nullptr);
  /// Shows the gradient of `variable` to `probe` once backward() has it whole. A variable without
  /// a slot has none.
  void probe(const Variable<Real>& variable, Probe probe);

  /// The result of an operation on up to four inputs. backward(tape, output's gradient) adds to
  /// the gradients of the inputs; it is dropped when no input wants one.
  template <class Backward>
  Variable<Real> result(Tensor<Real> value, std::initializer_list<const Variable<Real>*> inputs,
                        Backward backward) {
    const std::int64_t output = output_of(value, inputs);
    if (output >= 0) record(inputs, output, std::move(backward));
    return {std::move(value), output};
  }
  /// An operation whose result is a number, the end of the tape: its output gradient is empty.
  template <class Backward>
  void loss(const Variable<Real>& input, Backward backward) {
    if (input.slot >= 0) record({&input}, -1, std::move(backward));
  }

  /// A tape of the same device that computes values only.
  Tape unrecorded() const { return Tape(device_, false); }
  /// `value`, of which nothing but x is kept: backward() has body(tape, x) make it once more,
  /// recorded on a tape of its own.
  template <class Body>
  Variable<Real> recomputed(const Variable<Real>& x, Tensor<Real> value, Body body) {
    if (!recording_) return constant(std::move(value));
    const std::int64_t output = add_slot(value, kNoParameter);
    record({&x}, output, [x, body](Tape& tape, const Tensor<Real>& output_gradient) {
      Tape& again = tape.spare();
      Tensor<Real> dx;
      const Variable<Real> input = x.slot >= 0 ? again.leaf(x.value, &dx) : again.constant(x.value);
      again.seed(body(again, input), output_gradient);
      again.backward(*tape.sink_);
      if (!dx.empty()) {
        tape.device().scaled_backward(dx.size(), 1.0, dx.data(), tape.into(x.slot));
      }
    });
    return {std::move(value), output};
  }

  /// Where an operation's backward puts what it has for an input; null when nothing is wanted.
  Into<Real> into(std::int64_t slot);
  /// The same as a sum to add to, zero at first.
  Real* gradient(std::int64_t slot);
  /// Consumes the tape. Every parameter is handed to the sink exactly once.
  void backward(const Sink& sink);
  /// Forgets everything that was recorded, and keeps the room it took for the next pass.
  void clear();

 private:
  static constexpr std::size_t kNoParameter = static_cast<std::size_t>(-1);
  static constexpr std::size_t kMaxInputs = 4;
  struct Slot {
    std::int64_t rows = 0, columns = 0;
    std::size_t parameter = kNoParameter;
    int uses = 0;
    bool is_leaf = false;
    Tensor<Real> gradient;
    Tensor<Real>* left_in = nullptr;
    std::vector<Probe> probes;
  };
  class Step {
   public:
    Step() = default;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    virtual ~Step() = default;
    virtual void run(Tape& tape, const Tensor<Real>& output_gradient) = 0;
  };
  template <class Backward>
  class StepOf final : public Step {
   public:
    explicit StepOf(Backward backward) : backward_(std::move(backward)) {}
    void run(Tape& tape, const Tensor<Real>& gradient) override { backward_(tape, gradient); }

   private:
    Backward backward_;
  };
  struct Operation {
    std::array<std::int64_t, kMaxInputs> inputs{};
    std::size_t input_count = 0;
    std::int64_t output = -1;
    std::shared_ptr<Step> step;
  };

  std::int64_t add_slot(const Tensor<Real>& value, std::size_t parameter);
  /// Another tape of this device that records, kept for the next time.
  Tape& spare();
  /// The gradient of a variable that is not followed by a loss.
  void seed(const Variable<Real>& variable, const Tensor<Real>& gradient);
  /// The slot of a result, -1 when no input has one.
  std::int64_t output_of(const Tensor<Real>& value,
                         std::initializer_list<const Variable<Real>*> inputs);
  Operation& append(std::initializer_list<const Variable<Real>*> inputs, std::int64_t output);
  template <class Backward>
  void record(std::initializer_list<const Variable<Real>*> inputs, std::int64_t output,
              Backward backward) {
    append(inputs, output).step = std::allocate_shared<StepOf<Backward>>(
        PoolAllocator<std::byte>(device_->pool()), std::move(backward));
  }
  /// Takes the gradient out of its slot, zero if nothing was added to it, past the probes.
  Tensor<Real> take(std::int64_t slot);
  void release_input(std::int64_t slot, const Sink& sink);
  void finish_leaf(std::int64_t slot);
  /// An input that an operation has twice gets a sum: which part comes first is not said.
  void start_shared_inputs(const Operation& operation);

  std::shared_ptr<Device<Real>> device_;
  bool recording_;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> parameter_slots_;
  std::vector<Operation> operations_;
  std::unique_ptr<Tape> spare_;
  const Sink* sink_ = nullptr;  ///< of the backward() that is under way
};
extern template class Tape<float>;
extern template class Tape<double>;

/// y = phi(x) by entry.
template <class Real>
void apply(Device<Real>& device, const PointFunction& phi, const Tensor<Real>& x,
           const Tensor<Real>& y) {
  if (phi.expression) {
    device.function_forward(*phi.expression, y.size(), x.data(), y.data());
  } else {
    device.activation_forward(phi.kind, y.size(), x.data(), y.data());
  }
}

/// An input as its operation's backward needs it: the value, or what an activation makes it of.
template <class Real>
class Kept {
 public:
  explicit Kept(const Variable<Real>& x)
      : tensor_(x.phi != nullptr ? x.source : x.value), phi_(x.phi) {}
  /// The value, made again if need be.
  Tensor<Real> value(const Tape<Real>& tape) const;

 private:
  Tensor<Real> tensor_;
  const PointFunction* phi_;
};
extern template class Kept<float>;
extern template class Kept<double>;

}  // namespace scalecalc::tensor
