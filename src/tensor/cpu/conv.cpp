#include <algorithm>

#include "tensor/conv_index.hpp"
#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/cpu/product.hpp"
#include "tensor/cpu/scratch.hpp"

// A convolution is a sum over the taps of its kernel: for tap j, y += x_j w_j with x_j the input
// seen through the tap (out_positions, group_in) and w_j the tap's rows of the weight.
namespace scalecalc::tensor {
namespace {

/// body(output position, input position) wherever tap `tap` meets the image, not its padding.
template <class Body>
void for_positions(const ConvShape& s, std::int64_t tap, const Body& body) {
  const std::int64_t tap_x = tap % s.kernel;
  for (std::int64_t row = 0; row < s.out_height(); ++row) {
    const std::int64_t y = seen_row(s, row, tap);
    if (!in_image(y, s.height)) continue;
    for (std::int64_t column = 0; column < s.out_width(); ++column) {
      const std::int64_t x = seen_place(s, column, tap_x);
      if (in_image(x, s.width)) body(row * s.out_width() + column, y * s.width + x);
    }
  }
}

/// Where one image and group are put as a tap sees them; one tap at a time.
template <class Real>
MatrixMap<Real> tap_view(const ConvShape& s) {
  return view(scratch<Real>(s.out_positions() * s.group_in()), s.out_positions(), s.group_in());
}

/// The input of one image and group as the tap sees it, zero where it meets the padding.
template <class Real>
MatrixMap<Real> gather(const ConvShape& s, const Real* x, std::int64_t image, std::int64_t group,
                       std::int64_t tap) {
  MatrixMap<Real> seen = tap_view<Real>(s);
  seen.setZero();
  const Real* from = x + image * s.positions() * s.in_channels + group * s.group_in();
  for_positions(s, tap, [&](std::int64_t out, std::int64_t in) {
    const Real* channels = from + in * s.in_channels;
    std::copy(channels, channels + s.group_in(), seen.data() + out * s.group_in());
  });
  return seen;
}

/// One group's columns of y, for one image.
template <class Real>
auto output(const ConvShape& s, Real* y, std::int64_t image, std::int64_t group) {
  return view(y + image * s.out_positions() * s.out_channels + group * s.group_out(),
              s.out_positions(), s.group_out(), s.out_channels);
}

/// The rows of one tap and the columns of one group of the weight.
template <class Real>
auto tap_weight(const ConvShape& s, Real* w, std::int64_t group, std::int64_t tap) {
  return view(w + tap * s.group_in() * s.out_channels + group * s.group_out(), s.group_in(),
              s.group_out(), s.out_channels);
}

template <class Body>
void for_images(int threads, const ConvShape& s, const Body& body) {
  for_tiles(threads, s.images * s.groups,
            [&](std::int64_t tile) { body(tile / s.groups, tile % s.groups); });
}

}  // namespace

template <class Real>
void CpuDevice<Real>::conv_forward(const ConvShape& s, const Real* x, const Real* w, Real* y) {
  const Maker by = maker(s.out_positions(), s.group_out(), s.group_in());
  for_images(threads_, s, [&](std::int64_t image, std::int64_t group) {
    auto Y = output(s, y, image, group);
    Y.setZero();
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      write_product(by, Y, gather(s, x, image, group, tap), tap_weight(s, w, group, tap), true);
    }
  });
}

template <class Real>
void CpuDevice<Real>::conv_backward_input(const ConvShape& s, const Real* dy, const Real* w,
                                          Into<Real> dx) {
  const Maker by = maker(s.out_positions(), s.group_in(), s.group_out());
  for_images(threads_, s, [&](std::int64_t image, std::int64_t group) {
    const auto DY = output(s, dy, image, group);
    Real* to = dx.data + image * s.positions() * s.in_channels + group * s.group_in();
    if (!dx.adds) view(to, s.positions(), s.group_in(), s.in_channels).setZero();
    MatrixMap<Real> seen = tap_view<Real>(s);
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      write_product(by, seen, DY, tap_weight(s, w, group, tap).transpose(), false);
      for_positions(s, tap, [&](std::int64_t out, std::int64_t in) {
        const Real* from = seen.data() + out * s.group_in();
        for (std::int64_t i = 0; i < s.group_in(); ++i) to[in * s.in_channels + i] += from[i];
      });
    }
  });
}

template <class Real>
void CpuDevice<Real>::conv_backward_weight(const ConvShape& s, const Real* x, const Real* dy,
                                           Into<Real> dw) {
  const std::int64_t taps = s.taps();
  const Maker by = maker(s.group_in(), s.group_out(), s.out_positions());
  for_tiles(threads_, s.groups * taps, [&](std::int64_t tile) {
    const std::int64_t group = tile / taps, tap = tile % taps;
    auto DW = tap_weight(s, dw.data, group, tap);
    if (!dw.adds) DW.setZero();
    for (std::int64_t image = 0; image < s.images; ++image) {
      write_product(by, DW, gather(s, x, image, group, tap).transpose(),
                    output(s, dy, image, group), true);
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
