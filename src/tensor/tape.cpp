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
Variable<Real> Tape<Real>::leaf(Tensor<Real> value) {
  if (!recording_) return {std::move(value), -1};
  const std::int64_t slot = add_slot(value, kNoParameter);
  slots_.back().is_leaf = true;
  return {std::move(value), slot};
}

template <class Real>
void Tape<Real>::probe(const Variable<Real>& variable, Probe probe) {
  if (variable.slot < 0) return;
  slots_[static_cast<std::size_t>(variable.slot)].probes.push_back(std::move(probe));
}

template <class Real>
void Tape<Real>::record(std::initializer_list<const Variable<Real>*> inputs, std::int64_t output,
                        Backward backward) {
  Operation operation{{}, output, std::move(backward)};
  for (const Variable<Real>* input : inputs) {
    if (input->slot < 0) continue;
    operation.inputs.push_back(input->slot);
    ++slots_[static_cast<std::size_t>(input->slot)].uses;
  }
  operations_.push_back(std::move(operation));
}

template <class Real>
Variable<Real> Tape<Real>::result(Tensor<Real> value,
                                  std::initializer_list<const Variable<Real>*> inputs,
                                  Backward backward) {
  const bool wanted = std::any_of(inputs.begin(), inputs.end(),
                                  [](const Variable<Real>* input) { return input->slot >= 0; });
  if (!wanted) return {std::move(value), -1};
  const std::int64_t output = add_slot(value, kNoParameter);
  record(inputs, output, std::move(backward));
  return {std::move(value), output};
}

template <class Real>
void Tape<Real>::loss(const Variable<Real>& input, Backward backward) {
  if (input.slot >= 0) record({&input}, -1, std::move(backward));
}

template <class Real>
Real* Tape<Real>::gradient(std::int64_t slot) {
  if (slot < 0) return nullptr;
  Slot& entry = slots_[static_cast<std::size_t>(slot)];
  if (entry.gradient.empty()) {
    entry.gradient = make(entry.rows, entry.columns);
    device_->zero(entry.gradient.data(), entry.gradient.bytes());
  }
  return entry.gradient.data();
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
    take(slot);
  }
}

template <class Real>
void Tape<Real>::backward(const Sink& sink) {
  while (!operations_.empty()) {
    Operation operation = std::move(operations_.back());
    operations_.pop_back();
    operation.backward(*this, take(operation.output));
    operation.backward = nullptr;
    for (const std::int64_t input : operation.inputs) release_input(input, sink);
  }
}

template class Tape<float>;
template class Tape<double>;

}  // namespace scalecalc::tensor
