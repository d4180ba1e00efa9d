#include "tensor/tape.hpp"

#include <algorithm>
#include <utility>

namespace scalecalc::tensor {

template <class Real>
std::int64_t Tape<Real>::add_slot(const Tensor<Real>& value, std::size_t parameter) {
  Slot& slot = slots_.emplace_back();
  slot.rows = value.rows();
  slot.columns = value.columns();
  slot.parameter = parameter;
  return static_cast<std::int64_t>(slots_.size()) - 1;
}

template <class Real>
Variable<Real> Tape<Real>::parameter(std::size_t index, const Tensor<Real>& value) {
  if (!recording_) return {value, -1};
  if (index >= parameter_slots_.size()) parameter_slots_.resize(index + 1, -1);
  if (parameter_slots_[index] < 0) parameter_slots_[index] = add_slot(value, index);
  return {value, parameter_slots_[index]};
}

template <class Real>
Variable<Real> Tape<Real>::leaf(Tensor<Real> value, Tensor<Real>* gradient) {
  if (!recording_) return {std::move(value), -1};
  const std::int64_t slot = add_slot(value, kNoParameter);
  slots_.back().is_leaf = true;
  slots_.back().left_in = gradient;
  return {std::move(value), slot};
}

template <class Real>
void Tape<Real>::probe(const Variable<Real>& variable, Probe probe) {
  if (variable.slot < 0) return;
  slots_[static_cast<std::size_t>(variable.slot)].probes.push_back(std::move(probe));
}

template <class Real>
std::int64_t Tape<Real>::output_of(const Tensor<Real>& value,
                                   std::initializer_list<const Variable<Real>*> inputs) {
  const bool wanted = std::any_of(inputs.begin(), inputs.end(),
                                  [](const Variable<Real>* input) { return input->slot >= 0; });
  return wanted ? add_slot(value, kNoParameter) : -1;
}

template <class Real>
typename Tape<Real>::Operation& Tape<Real>::append(
    std::initializer_list<const Variable<Real>*> inputs, std::int64_t output) {
  Operation& operation = operations_.emplace_back();
  operation.output = output;
  for (const Variable<Real>* input : inputs) {
    if (input->slot < 0) continue;
    operation.inputs[operation.input_count++] = input->slot;
    ++slots_[static_cast<std::size_t>(input->slot)].uses;
  }
  return operation;
}

template <class Real>
Into<Real> Tape<Real>::into(std::int64_t slot) {
  if (slot < 0) return {};
  Slot& entry = slots_[static_cast<std::size_t>(slot)];
  if (!entry.gradient.empty()) return {entry.gradient.data(), true};
  entry.gradient = make(entry.rows, entry.columns);
  return {entry.gradient.data(), false};
}

template <class Real>
Real* Tape<Real>::gradient(std::int64_t slot) {
  const Into<Real> sum = into(slot);
  if (sum && !sum.adds) {
    device_->zero(sum.data, slots_[static_cast<std::size_t>(slot)].gradient.bytes());
  }
  return sum.data;
}

template <class Real>
Tensor<Real> Tape<Real>::take(std::int64_t slot) {
  if (slot < 0) return {};
  gradient(slot);
  Slot& entry = slots_[static_cast<std::size_t>(slot)];
  for (const Probe& probe : entry.probes) probe(entry.gradient);
  return std::exchange(entry.gradient, {});
}

template <class Real>
void Tape<Real>::release_input(std::int64_t slot, const Sink& sink) {
  Slot& entry = slots_[static_cast<std::size_t>(slot)];
  if (--entry.uses > 0) return;
  if (entry.parameter != kNoParameter) {
    sink(entry.parameter, take(slot));
  } else if (entry.is_leaf) {
    finish_leaf(slot);
  }
}

template <class Real>
void Tape<Real>::finish_leaf(std::int64_t slot) {
  Tensor<Real> gradient = take(slot);
  Tensor<Real>* to = slots_[static_cast<std::size_t>(slot)].left_in;
  if (to != nullptr) *to = std::move(gradient);
}

template <class Real>
void Tape<Real>::backward(const Sink& sink) {
  sink_ = &sink;
  while (!operations_.empty()) {
    Operation operation = std::move(operations_.back());
    operations_.pop_back();
    start_shared_inputs(operation);
    operation.step->run(*this, take(operation.output));
    operation.step = nullptr;
    for (std::size_t i = 0; i < operation.input_count; ++i) {
      release_input(operation.inputs[i], sink);
    }
  }
  clear();
}

template <class Real>
Tape<Real>& Tape<Real>::spare() {
  if (!spare_) spare_ = std::make_unique<Tape>(device_, true);
  return *spare_;
}

template <class Real>
void Tape<Real>::seed(const Variable<Real>& variable, const Tensor<Real>& gradient) {
  if (variable.slot < 0) return;
  Slot& slot = slots_[static_cast<std::size_t>(variable.slot)];
  slot.gradient = gradient;
  // Of an input that is the result itself: no operation takes the gradient from it.
  if (slot.is_leaf && slot.uses == 0) finish_leaf(variable.slot);
}

template <class Real>
void Tape<Real>::start_shared_inputs(const Operation& operation) {
  const auto begin = operation.inputs.begin(), end = begin + operation.input_count;
  for (auto input = begin; input != end; ++input) {
    if (std::find(begin, input, *input) != input) gradient(*input);
  }
}

template <class Real>
void Tape<Real>::clear() {
  sink_ = nullptr;
  operations_.clear();
  slots_.clear();
  parameter_slots_.clear();
  if (spare_) spare_->clear();
}

template <class Real>
Tensor<Real> Kept<Real>::value(const Tape<Real>& tape) const {
  if (phi_ == nullptr) return tensor_;
  Tensor<Real> made = tape.make(tensor_.rows(), tensor_.columns());
  apply(tape.device(), *phi_, tensor_, made);
  return made;
}

template class Tape<float>;
template class Tape<double>;
template class Kept<float>;
template class Kept<double>;

}  // namespace scalecalc::tensor
