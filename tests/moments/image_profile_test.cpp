#include "moments/image_profile.hpp"

#include <string>
#include <vector>

#include "image_conv.hpp"
#include "moments/layers/conv2d.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

const std::vector<Conv2d> kinds = {image_conv(5, 4, 3, 1, 1), image_conv(6, 5, 5, 2, 2),
                                   image_conv(7, 5, 3, 2, 0), image_conv(5, 3, 3, 2, 1, 1, true)};

/// found(tap, input, output), by hand.
template <class F>
void every_tap(const Conv2d& layer, const F& found) {
  for (std::int64_t row = 0; row < layer.out_height(); ++row)
    for (std::int64_t column = 0; column < layer.out_width(); ++column)
      for (std::int64_t i = 0; i < layer.kernel; ++i)
        for (std::int64_t j = 0; j < layer.kernel; ++j) {
          std::int64_t y = row * layer.stride + i - layer.padding,
                       x = column * layer.stride + j - layer.padding;
          if (layer.transposed) {
            y = row + layer.padding - i;
            x = column + layer.padding - j;
            if (y % layer.stride != 0 || x % layer.stride != 0) continue;
            y /= layer.stride;
            x /= layer.stride;
          }
          if (y < 0 || x < 0 || y >= layer.height || x >= layer.width) continue;
          found(i * layer.kernel + j, y * layer.width + x, row * layer.out_width() + column);
        }
}

/// Of some image: no position is as another.
Eigen::ArrayXd some_sizes(Eigen::Index positions, double by) {
  return 1 + by * Eigen::ArrayXd::LinSpaced(positions, 0, 3).sin().square();
}

struct PairMeans {
  double within = 0, between = 0;
};
PairMeans pairs_of(const Eigen::ArrayXd& roots) {
  PairMeans mean;
  const auto count = static_cast<double>(roots.size());
  for (Eigen::Index i = 0; i < roots.size(); ++i)
    for (Eigen::Index j = 0; j < roots.size(); ++j) {
      const double pair = roots[i] * roots[j];
      mean.between += pair / (count * count);
      if (i != j) mean.within += pair / (count * (count - 1));
    }
  return mean;
}

}  // namespace

TEST_CASE("a profile has the averages of its positions and of their pairs") {
  const Profile p = make_profile(some_sizes(12, 2) * 5);
  REQUIRE(p);
  CHECK(p->at.mean() == rounded(1, 64));
  const PairMeans mean = pairs_of(p->at.sqrt());
  CHECK(p->within == rounded(mean.within, 1024));
  CHECK(p->between == rounded(mean.between, 1024));
  const Profile q = make_profile(some_sizes(12, -0.7));
  const Eigen::ArrayXd both = p->at * q->at;
  const PairMeans all = pairs_of(both.sqrt()), of_q = pairs_of(q->at.sqrt());
  const Alike<double> with = together(p, q);
  CHECK(with.second == rounded(both.mean(), 64));
  CHECK(with.cross == rounded(all.within / (mean.within * of_q.within), 1024));
  CHECK(with.between == rounded(all.between / (mean.between * of_q.between), 1024));
  const Alike<double> x{0.3, 2, 0.7, 0.2}, back = unlevelled(levelled(x, p), p);
  CHECK(back.mean == rounded(x.mean, 4));
  CHECK(back.cross == rounded(x.cross, 4));
  CHECK(back.between == rounded(x.between, 4));
  CHECK_FALSE(make_profile(Eigen::ArrayXd::Constant(9, 0.1)));
  CHECK_FALSE(make_profile(Eigen::ArrayXd::Zero(9)));
}

TEST_CASE("sums over taps have each pair of an input and an output by its sizes") {
  for (const Conv2d& layer : kinds) {
    const std::int64_t inputs = layer.height * layer.width,
                       outputs = layer.out_height() * layer.out_width();
    const Profile p = make_profile(some_sizes(inputs, 2), some_sizes(inputs, -0.8)),
                  q = make_profile(some_sizes(outputs, 3), some_sizes(outputs, 1));
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> taps(
        static_cast<std::size_t>(layer.taps()));
    Eigen::ArrayXd forward = Eigen::ArrayXd::Zero(outputs), back = Eigen::ArrayXd::Zero(inputs);
    every_tap(layer, [&](std::int64_t tap, std::int64_t in, std::int64_t out) {
      taps[static_cast<std::size_t>(tap)].emplace_back(in, out);
      forward[out] += p->at[in];
      back[in] += q->at[out];
    });
    double once = 0, pairs = 0, squares = 0;
    Eigen::ArrayXd through = Eigen::ArrayXd::Zero(outputs), pairs_in = Eigen::ArrayXd::Zero(inputs);
    for (const auto& tap : taps)
      for (std::size_t i = 0; i < tap.size(); ++i)
        for (std::size_t j = 0; j < tap.size(); ++j) {
          const auto [in, out] = tap[i];
          const auto [other_in, other_out] = tap[j];
          const double x = p->row[in] * p->row[other_in], g = q->row[out] * q->row[other_out];
          squares += x * g / (p->between * q->between);
          if (i == j)
            once += p->at[in] * q->at[out];
          else
            pairs += x * g / (p->within * q->within);
          through[out] += x;
          pairs_in[in] += g;
        }
    const Taps found = count_taps(layer, p, q);
    constexpr double steps = 4096;
    CHECK(found.once == rounded(once, steps));
    CHECK(found.pairs == rounded(pairs, steps));
    CHECK(found.squares == rounded(squares, steps));
    CHECK((added_taps(layer, p->at) - forward).abs().maxCoeff() <=
          rounding(64) * forward.maxCoeff());
    CHECK((added_back(layer, q->at) - back).abs().maxCoeff() <= rounding(64) * back.maxCoeff());
    CHECK((pairs_through(layer, p->row) - through).abs().maxCoeff() <=
          rounding(steps) * through.maxCoeff());
    CHECK((pairs_back(layer, q->row) - pairs_in).abs().maxCoeff() <=
          rounding(steps) * pairs_in.maxCoeff());
    const Taps plain = count_taps(layer), ones = count_taps(layer, nullptr, nullptr);
    CHECK(ones.once == plain.once);
    CHECK(ones.pairs == plain.pairs);
  }
}

// E x^2 of every position through three layers by hand, squares of rectified values halved.
TEST_CASE("stacked convolutions have the squares of every position") {
  for (const char* function : {"identity", "relu"}) {
    const double slope = std::string(function) == "relu" ? 0.5 : 1;
    const std::string act =
        "[[layer]]\ntype = \"activation\"\nactivation = \"" + std::string(function) + "\"\n";
    const auto layer = [](int kernel, int stride) {
      return "[[layer]]\ntype = \"conv2d\"\nchannels = 12\nkernel = " + std::to_string(kernel) +
             "\npadding = 1\nstride = " + std::to_string(stride) +
             "\nbias = true\nstd = 0.1\nbias_std = 0.3\n";
    };
    const Trace trace = trace_of_model(
        "[model]\nkind = \"layers\"\nfeatures = 12\nsequence = 42\nheight = 6\nclasses = 3\n"
        "batch = 2\n" +
        layer(3, 1) + act + layer(5, 2) + act + layer(3, 1) + "[[layer]]\ntype = \"pool\"\n");
    Eigen::ArrayXd at = Eigen::ArrayXd::Ones(42);
    const double bias = parameter(trace, "conv2d[0].bias").second.value;
    CHECK(bias == rounded(0.09, 8));
    std::int64_t height = 6, width = 7;
    const std::vector<std::pair<int, int>> sides = {{3, 1}, {5, 2}, {3, 1}};
    for (std::size_t l = 0; l < sides.size(); ++l) {
      const Conv2d made = image_conv(height, width, sides[l].first, sides[l].second, 1);
      Eigen::ArrayXd next = Eigen::ArrayXd::Zero(made.out_height() * made.out_width());
      every_tap(made, [&](std::int64_t, std::int64_t in, std::int64_t out) {
        next[out] += 12 * 0.01 * at[in];
      });
      next += bias;
      CHECK(site(trace, "conv2d[" + std::to_string(l) + "]").second.value ==
            near(next.mean(), by_interpolation));
      at = next * slope;
      height = made.out_height();
      width = made.out_width();
    }
  }
}

TEST_CASE("sizes of an activation are its own at every position") {
  Numbers numbers = calculus();
  const Profile p = make_profile(some_sizes(20, 2));
  const Alike<double> u{0.2, 1.5, 0.4, 0.1};
  const double variance = u.second - u.mean * u.mean;
  const auto relu = profile_through(numbers, numbers.function("relu"), {0, 1.5, 0, 0}, p);
  CHECK((relu.values - p->at).abs().maxCoeff() < by_interpolation);
  CHECK((relu.slopes - 1).abs().maxCoeff() < by_interpolation);
  const auto tanh = numbers.function("tanh");
  const auto made = profile_through(numbers, tanh, u, p);
  const SizeMoments mean = numbers.sizes(tanh, u.mean, variance);
  // A polynomial of degree 6 on roots of sizes that differ by 1.7 at most.
  constexpr double of_degree = 1e-4;
  for (Eigen::Index i = 0; i < p->at.size(); ++i) {
    const double s = std::sqrt(p->at[i]);
    const SizeMoments own = numbers.sizes(tanh, s * u.mean, s * s * variance);
    CHECK(made.values[i] == near(own.second / mean.second, of_degree));
    CHECK(made.slopes[i] == near(own.slope / mean.slope, of_degree));
  }
}

// Of nodes that rounding makes one, 0 was divided by 0.
TEST_CASE("a function of sizes is found however little these differ") {
  const auto f = [](double s) { return 1 / (1 + s * s); };
  for (double apart = 0.5; apart > 1e-19; apart /= 3) {
    const Eigen::ArrayXd roots = Eigen::ArrayXd::LinSpaced(16, 1 - apart, 1 + apart);
    const Eigen::ArrayXd found = at_sizes(roots, f);
    CAPTURE(apart);
    // A polynomial of degree 6 leaves (r/rho)^7 with rho = |1 - i|; 1e-12 of f'/f is not told
    // apart.
    const double left = std::pow(apart, 7) + 1e-12 + rounding(1024);
    for (Eigen::Index i = 0; i < roots.size(); ++i) CHECK(found[i] == near(f(roots[i]), left));
  }
}

TEST_CASE("positions about the mean over all samples") {
  const Profile p = make_profile(some_sizes(6, 2));
  const Alike<double> x{0, 1.5, 0.5, 0.3};
  const Alike<double> one = levelled(x, p);
  constexpr Eigen::Index positions = 6, images = 3, samples = positions * images;
  Eigen::MatrixXd state(samples, samples);
  for (Eigen::Index s = 0; s < samples; ++s)
    for (Eigen::Index t = 0; t < samples; ++t) {
      const Eigen::Index i = s % positions, j = t % positions;
      const double of = s == t                           ? one.second
                        : s / positions == t / positions ? one.cross
                                                         : one.between;
      state(s, t) = of * std::sqrt(p->at[i] * p->at[j]);
    }
  const Eigen::VectorXd rows = state.rowwise().mean();
  Eigen::ArrayXd centred(positions);
  for (Eigen::Index i = 0; i < positions; ++i) centred[i] = state(i, i) - 2 * rows[i] + rows.mean();
  const Profile found = centred_profile(x, p, {positions, images});
  REQUIRE(found);
  CHECK((found->at - centred / centred.mean()).abs().maxCoeff() < rounding(1024));
}

TEST_CASE("sums of two images go by squares") {
  const Profile p = make_profile(some_sizes(6, 2)), q = make_profile(some_sizes(6, -0.6));
  const Alike<double> x{0, 2, 0.4, 0}, y{0, 3, 0.6, 0}, both{0, 5, 1, 0};
  const Profile sum = profile_of_sum(p, x, q, y, both);
  CHECK((sum->at - (2 * p->at + 3 * q->at) / 5).abs().maxCoeff() < rounding(64));
  const Profile beside = profile_of_sum(nullptr, x, q, y, both);
  CHECK((beside->at - (2 + 3 * q->at) / 5).abs().maxCoeff() < rounding(64));
  // Of pairs the averages over all of a position's.
  const Eigen::ArrayXd pairs = 0.4 + 0.6 / q->within * q->row.mean() * q->row;
  CHECK((beside->row / beside->row.mean() - pairs / pairs.mean()).abs().maxCoeff() < rounding(256));
  CHECK_FALSE(profile_of_sum(nullptr, x, nullptr, y, both));
}

TEST_CASE("a norm over features makes positions alike, and divides gradients by their sizes") {
  const Trace trace = trace_of_model(
      "[model]\nkind = \"layers\"\nfeatures = 16\nsequence = 16\nheight = 4\nclasses = 3\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 64\nkernel = 3\npadding = 1\n"
      "[[layer]]\ntype = \"norm\"\nnorm = \"rmsnorm\"\n"
      "[[layer]]\ntype = \"pool\"\n");
  // Along a side 2, 3, 3, 2 taps are inside.
  const double inverse = 2.5 * (1.0 / 2 + 1.0 / 3) / 2;
  const double below = site(trace, "conv2d[0]").grad_second.value *
                       site(trace, "conv2d[0]").second.value,
               above = site(trace, "norm[0]").grad_second.value;
  CHECK(site(trace, "norm[0]").second.value == near(1));
  // Of 64 features two orders of 1/n, of the scatter of their norm and of what it takes out.
  CHECK(below == within(above * inverse * inverse, above * inverse * inverse * 3 / 64));
}
