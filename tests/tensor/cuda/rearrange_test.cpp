#include "compare.hpp"

namespace scalecalc::tensor {

TEST_CASE_TEMPLATE("cuda: kernels of transposed convolutions", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  // images, height, width, in, out, kernel, stride, padding, groups
  for (const ConvShape& s : {ConvShape{1, 1, 1, 1, 1, 1, 1, 0, 1},
                             {1, 3, 3, 40, 3, 3, 2, 1, 1},
                             {1, 2, 2, 6, 9, 2, 2, 0, 3}}) {
    CAPTURE(s.kernel);
    const std::int64_t count = s.taps() * s.group_in() * s.out_channels;
    const auto w = pair.random(count, 1);
    pair.run_written_and_added([&](bool adds) {
      const auto mirrored = pair.random(count, 2);
      pair.run([&](Device<Real>& d, int k) {
        d.mirror_kernel(s, w.on(k), {mirrored.on(k), adds});
      });
      CHECK(mirrored.difference() == 0);
    });
  }
}

TEST_CASE_TEMPLATE("cuda: upsampling", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  // images, height, width, channels, factor
  for (const UpsampleShape& s : {UpsampleShape{1, 1, 1, 1, 1}, {2, 3, 5, 3, 2}, {3, 4, 2, 40, 3}}) {
    CAPTURE(s.factor);
    const std::int64_t in = s.images * s.positions() * s.channels;
    const std::int64_t out = s.images * s.out_positions() * s.channels;
    const auto x = pair.random(in, 1), dy = pair.random(out, 2), y = pair.random(out, 3);
    pair.run([&](Device<Real>& d, int k) { d.upsample_forward(s, x.on(k), y.on(k)); });
    CHECK(y.difference() == 0);
    pair.run_written_and_added([&](bool adds) {
      const auto dx = pair.random(in, 4);
      pair.run([&](Device<Real>& d, int k) { d.upsample_backward(s, dy.on(k), {dx.on(k), adds}); });
      CHECK(dx.difference() <= tolerance<Real>(s.factor * s.factor, largest(dy.read(0))));
    });
  }
}

TEST_CASE_TEMPLATE("cuda: concatenations", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const ConcatShape& s : {ConcatShape{1, 1, 1}, {5, 40, 3}, {70, 2, 33}}) {
    CAPTURE(s.left);
    const std::int64_t width = s.left + s.right;
    const auto a = pair.random(s.rows * s.left, 1), b = pair.random(s.rows * s.right, 2),
               y = pair.random(s.rows * width, 3), dy = pair.random(s.rows * width, 4);
    pair.run([&](Device<Real>& d, int k) { d.concat_forward(s, a.on(k), b.on(k), y.on(k)); });
    CHECK(y.difference() == 0);
    pair.run_written_and_added([&](bool adds) {
      const auto da = pair.random(s.rows * s.left, 5), db = pair.random(s.rows * s.right, 6);
      pair.run([&](Device<Real>& d, int k) {
        d.concat_backward(s, dy.on(k), {da.on(k), adds}, {db.on(k), adds});
      });
      CHECK(da.difference() == 0);
      CHECK(db.difference() == 0);
    });
  }
}

}  // namespace scalecalc::tensor
