#include "tensor/ops.hpp"

// A transposed convolution is the way back of a convolution whose input is what leaves here, with
// the kernel of each pair of channels turned around: forward, back and the kernel's gradient change
// places.
namespace scalecalc::tensor {
namespace {

/// The convolution that reads what leaves a transposed one of `s`.
ConvShape mirror_of(ConvShape s, std::int64_t height, std::int64_t width) {
  s.height = height;
  s.width = width;
  std::swap(s.in_channels, s.out_channels);
  return s;
}

}  // namespace

template <class Real>
Variable<Real> convolve_transposed(Tape<Real>& tape, const ConvShape& shape, std::int64_t height,
                                   std::int64_t width, const Variable<Real>& x,
                                   const Variable<Real>& weight, const Variable<Real>* bias) {
  const ConvShape mirror = mirror_of(shape, height, width);
  const std::int64_t rows = shape.images * mirror.positions();
  Tensor<Real> kernel = tape.make(shape.taps() * shape.group_out(), shape.in_channels);
  tape.device().mirror_kernel(shape, weight.value.data(), {kernel.data(), false});
  Tensor<Real> y = tape.make(rows, shape.out_channels);
  tape.device().conv_backward_input(mirror, x.value.data(), kernel.data(), {y.data(), false});
  const Variable<Real> b = bias != nullptr ? *bias : Variable<Real>{};
  if (bias != nullptr)
    tape.device().bias_forward(rows, shape.out_channels, b.value.data(), y.data());
  return tape.result(
      std::move(y), {&x, &weight, &b},
      [mirror, x, kernel, dw = weight.slot, db = b.slot](Tape<Real>& t, const Tensor<Real>& dy) {
        Device<Real>& device = t.device();
        if (const auto dx = t.into(x.slot)) {
          const Tensor<Real> made =
              dx.adds ? t.make(x.value.rows(), x.value.columns()) : Tensor<Real>();
          device.conv_forward(mirror, dy.data(), kernel.data(), dx.adds ? made.data() : dx.data);
          if (dx.adds) device.scaled_backward(made.size(), 1.0, made.data(), dx);
        }
        if (const auto dweight = t.into(dw)) {
          const Tensor<Real> made = t.make(kernel.rows(), kernel.columns());
          device.conv_backward_weight(mirror, dy.data(), x.value.data(), {made.data(), false});
          device.mirror_kernel(mirror, made.data(), dweight);
        }
        if (const auto dbias = t.into(db))
          device.bias_backward(dy.rows(), dy.columns(), dy.data(), dbias);
      });
}

template <class Real>
Variable<Real> upsample(Tape<Real>& tape, const UpsampleShape& shape, const Variable<Real>& x) {
  Tensor<Real> y = tape.make(shape.images * shape.out_positions(), shape.channels);
  tape.device().upsample_forward(shape, x.value.data(), y.data());
  return tape.result(std::move(y), {&x},
                     [shape, slot = x.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       t.device().upsample_backward(shape, dy.data(), t.into(slot));
                     });
}

template <class Real>
Variable<Real> concat(Tape<Real>& tape, const Variable<Real>& a, const Variable<Real>& b) {
  const ConcatShape shape{a.value.rows(), a.value.columns(), b.value.columns()};
  Tensor<Real> y = tape.make(shape.rows, shape.left + shape.right);
  tape.device().concat_forward(shape, a.value.data(), b.value.data(), y.data());
  return tape.result(std::move(y), {&a, &b},
                     [shape, a = a.slot, b = b.slot](Tape<Real>& t, const Tensor<Real>& dy) {
                       const Into<Real> da = t.into(a);
                       t.device().concat_backward(shape, dy.data(), da, t.into(b));
                     });
}

// NOLINTBEGIN(bugprone-macro-parentheses)
#define SCALECALC_INSTANTIATE(Real)                                                           \
  template Variable<Real> convolve_transposed(Tape<Real>&, const ConvShape&, std::int64_t,    \
                                              std::int64_t, const Variable<Real>&,            \
                                              const Variable<Real>&, const Variable<Real>*);  \
  template Variable<Real> upsample(Tape<Real>&, const UpsampleShape&, const Variable<Real>&); \
  template Variable<Real> concat(Tape<Real>&, const Variable<Real>&, const Variable<Real>&);
// NOLINTEND(bugprone-macro-parentheses)
SCALECALC_INSTANTIATE(float)
SCALECALC_INSTANTIATE(double)
#undef SCALECALC_INSTANTIATE

}  // namespace scalecalc::tensor
