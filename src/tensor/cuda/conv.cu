#include "tensor/conv_index.hpp"
#include "tensor/cuda/cuda_device.hpp"
#include "tensor/cuda/grid.cuh"

// A convolution is a product with the input as each output position sees it through the kernel:
// (group, position, tap * group_in + channel), some images at a time. A kernel of one tap sees the
// input as it is.
namespace scalecalc::tensor {
namespace {

template <class Real>
struct Gather {
  ConvShape s;
  std::int64_t rows;
  const Real* x;
  Real* seen;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t tap = column / s.in_channels, channel = column % s.in_channels;
    const std::int64_t image = row / s.out_positions();
    const std::int64_t position = seen_position(s, row % s.out_positions(), tap);
    seen[seen_entry(s, rows, row, tap, channel)] =
        position < 0 ? Real(0) : x[(image * s.positions() + position) * s.in_channels + channel];
  }
};

/// An input position collects from every output position that sees it, tap by tap.
template <class Real>
struct Collect {
  ConvShape s;
  std::int64_t rows;
  const Real* seen;
  Into<Real> dx;
  SCALECALC_DEVICE void operator()(std::int64_t row, std::int64_t channel) const {
    const std::int64_t first = row / s.positions() * s.out_positions();
    Real sum = 0;
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      const std::int64_t out = seeing_position(s, row % s.positions(), tap);
      if (out >= 0) sum += seen[seen_entry(s, rows, first + out, tap, channel)];
    }
    cuda::put(dx, row * s.in_channels + channel, sum);
  }
};

bool sees_as_is(const ConvShape& s) {
  return s.kernel == 1 && s.stride == 1 && s.padding == 0;
}

/// The same convolution of fewer images.
ConvShape of_images(ConvShape s, std::int64_t images) {
  s.images = images;
  return s;
}

/// The matrices of one piece: `rows` output positions, `depth` seen entries each.
template <class Real>
struct Matrices {
  Matrices(const ConvShape& s, const Real* input)
      : rows(s.images * s.out_positions()), depth(seen_depth(s)) {
    if (sees_as_is(s)) {
      seen = input;
      seen_row = s.in_channels;
      seen_step = s.group_in();
    } else {
      seen = nullptr;
      seen_row = depth;
      seen_step = rows * depth;
    }
  }
  std::int64_t rows, depth, seen_row, seen_step;
  const Real* seen;
};

/// body(shape of some images, first image) for all of them, as many at a time as keep what the
/// kernel sees below 256 MiB.
template <class Real, class Body>
void for_images(const ConvShape& s, const Body& body) {
  const std::int64_t each =
      s.out_positions() * s.taps() * s.in_channels * static_cast<std::int64_t>(sizeof(Real));
  const std::int64_t fitting = (std::int64_t{256} << 20) / (each > 0 ? each : 1);
  const std::int64_t size = sees_as_is(s) || fitting > s.images ? s.images
                            : fitting > 0                       ? fitting
                                                                : 1;
  for (std::int64_t first = 0; first < s.images; first += size) {
    body(of_images(s, first + size < s.images ? size : s.images - first), first);
  }
}

/// What the kernel sees of x: x itself, or gathered in `scratch`.
template <class Real>
Matrices<Real> gathered(const cuda::Queue& queue, const char* operation, const ConvShape& s,
                        const Real* x, const cuda::Scratch<Real>& scratch) {
  Matrices<Real> m(s, x);
  if (m.seen != nullptr) return m;
  cuda::for_rows(queue, operation, m.rows, s.taps() * s.in_channels,
                 Gather<Real>{s, m.rows, x, scratch.data()});
  m.seen = scratch.data();
  return m;
}

/// Entries of scratch memory for what the kernel sees.
std::int64_t seen_entries(const ConvShape& s) {
  return sees_as_is(s) ? 0 : s.images * s.out_positions() * s.taps() * s.in_channels;
}

}  // namespace

template <class Real>
void CudaDevice<Real>::conv_forward(const ConvShape& shape, const Real* x, const Real* w, Real* y) {
  for_images<Real>(shape, [&](const ConvShape& s, std::int64_t first) {
    const Real* input = x + first * s.positions() * s.in_channels;
    const cuda::Scratch<Real> scratch(buffers_, seen_entries(s));
    const Matrices<Real> m = gathered(queue_, "conv_forward", s, input, scratch);
    blas_.multiply("conv_forward",
                   cuda::Product<Real>{
                       m.rows, m.depth, s.group_out(), m.seen, m.seen_row, false, w, s.out_channels,
                       false, y + first * s.out_positions() * s.out_channels, s.out_channels, false,
                       s.groups, m.seen_step, s.group_out(), s.group_out()});
  });
}

template <class Real>
void CudaDevice<Real>::conv_backward_input(const ConvShape& shape, const Real* dy, const Real* w,
                                           Into<Real> dx) {
  if (!dx) return;
  for_images<Real>(shape, [&](const ConvShape& s, std::int64_t first) {
    const Into<Real> input{dx.data + first * s.positions() * s.in_channels, dx.adds};
    const cuda::Scratch<Real> scratch(buffers_, seen_entries(s));
    const Matrices<Real> m(s, input.data);
    const bool direct = sees_as_is(s);
    blas_.multiply(
        "conv_backward_input",
        cuda::Product<Real>{
            m.rows, s.group_out(), m.depth, dy + first * s.out_positions() * s.out_channels,
            s.out_channels, false, w, s.out_channels, true, direct ? input.data : scratch.data(),
            m.seen_row, direct && dx.adds, s.groups, s.group_out(), s.group_out(), m.seen_step});
    if (!direct) {
      cuda::for_rows(queue_, "conv_backward_input", s.images * s.positions(), s.in_channels,
                     Collect<Real>{s, m.rows, scratch.data(), input});
    }
  });
}

template <class Real>
void CudaDevice<Real>::conv_backward_weight(const ConvShape& shape, const Real* x, const Real* dy,
                                            Into<Real> dw) {
  if (!dw) return;
  for_images<Real>(shape, [&](const ConvShape& s, std::int64_t first) {
    const Real* input = x + first * s.positions() * s.in_channels;
    const cuda::Scratch<Real> scratch(buffers_, seen_entries(s));
    const Matrices<Real> m = gathered(queue_, "conv_backward_weight", s, input, scratch);
    blas_.multiply(
        "conv_backward_weight",
        cuda::Product<Real>{m.depth, m.rows, s.group_out(), m.seen, m.seen_row, true,
                            dy + first * s.out_positions() * s.out_channels, s.out_channels, false,
                            dw.data, s.out_channels, dw.adds || first > 0, s.groups, m.seen_step,
                            s.group_out(), s.group_out()});
  });
}

template class CudaDevice<float>;
template class CudaDevice<double>;

}  // namespace scalecalc::tensor
