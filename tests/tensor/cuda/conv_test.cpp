#include "compare.hpp"

namespace scalecalc::tensor {

TEST_CASE_TEMPLATE("cuda: convolutions", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  // images, height, width, in, out, kernel, stride, padding, groups
  for (const ConvShape& s : {ConvShape{1, 1, 1, 1, 1, 1, 1, 0, 1},
                             {2, 5, 7, 3, 4, 3, 1, 1, 1},
                             {2, 8, 6, 4, 6, 3, 2, 1, 2},
                             {3, 5, 5, 6, 6, 3, 1, 1, 6},
                             {2, 4, 5, 8, 3, 1, 1, 0, 1},
                             {1, 6, 6, 4, 8, 1, 1, 0, 4},
                             {2, 7, 7, 2, 3, 5, 3, 2, 1},
                             {2, 6, 6, 3, 3, 1, 2, 0, 1}}) {
    CAPTURE(s.kernel);
    CAPTURE(s.stride);
    CAPTURE(s.groups);
    const std::int64_t in = s.images * s.positions() * s.in_channels;
    const std::int64_t out = s.images * s.out_positions() * s.out_channels;
    const std::int64_t depth = s.taps() * s.group_in();
    const auto x = pair.random(in, 1), w = pair.random(depth * s.out_channels, 2);
    const auto dy = pair.random(out, 3), y = pair.random(out, 4);
    const double largest_x = largest(x.read(0)), largest_w = largest(w.read(0));
    const double largest_dy = largest(dy.read(0));
    pair.run([&](Device<Real>& d, int k) { d.conv_forward(s, x.on(k), w.on(k), y.on(k)); });
    CHECK(y.difference() <= tolerance<Real>(depth, largest_x * largest_w));
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(in, 5), dw = pair.random(depth * s.out_channels, 6);
      pair.run([&](Device<Real>& d, int k) {
        d.conv_backward_input(s, dy.on(k), w.on(k), {dx.on(k), adds});
        d.conv_backward_weight(s, x.on(k), dy.on(k), {dw.on(k), adds});
      });
      CHECK(dx.difference() <=
            tolerance<Real>(s.taps() * s.group_out(), largest_dy * largest_w + 1.0));
      CHECK(dw.difference() <=
            tolerance<Real>(s.images * s.out_positions(), largest_dy * largest_x + 1.0));
    });
  }
}

}  // namespace scalecalc::tensor
