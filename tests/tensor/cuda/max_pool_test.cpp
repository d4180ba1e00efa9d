#include "compare.hpp"

namespace scalecalc::tensor {

TEST_CASE_TEMPLATE("cuda: max pools", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  // images, height, width, in, out, kernel, stride, padding, groups
  for (const ConvShape& s : {ConvShape{1, 1, 1, 1, 1, 1, 1, 0, 1},
                             {2, 5, 7, 3, 3, 3, 2, 1, 1},
                             {3, 6, 6, 40, 40, 2, 2, 0, 1},
                             {1, 4, 4, 5, 5, 3, 1, 1, 1}}) {
    CAPTURE(s.kernel);
    CAPTURE(s.stride);
    const std::int64_t in = s.images * s.positions() * s.in_channels;
    const std::int64_t out = s.images * s.out_positions() * s.out_channels;
    const auto x = pair.random(in, 1), dy = pair.random(out, 2), y = pair.random(out, 3);
    pair.run([&](Device<Real>& d, int k) { d.max_pool_forward(s, x.on(k), y.on(k)); });
    CHECK(y.difference() == 0);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(in, 4);
      pair.run([&](Device<Real>& d, int k) {
        d.max_pool_backward(s, x.on(k), dy.on(k), {dx.on(k), adds});
      });
      // Sums of as many gradients as windows meet a position.
      CHECK(dx.difference() <= tolerance<Real>(s.kernel * s.kernel, largest(dy.read(0))));
    });
  }
}

}  // namespace scalecalc::tensor
