#include "moments/layers/concat.hpp"

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

Concat beside(std::int64_t stream, std::int64_t branch) {
  Concat layer;
  layer.path = "concat";
  layer.stream = stream;
  layer.branch = branch;
  return layer;
}

/// A model whose layers are these, of 24 features of 5 x 4 positions.
std::string model(const std::string& layers, const std::string& more = "") {
  return "[model]\nkind = \"layers\"\nfeatures = 24\nsequence = 20\nheight = 5\nclasses = 6\n" +
         more + "[input]\ncross = 0.3\n" + layers;
}
std::string op(const std::string& type, const std::string& keys = "",
               const std::string& at = "layer") {
  return "[[" + at + "]]\ntype = \"" + type + "\"\n" + keys;
}

}  // namespace

TEST_CASE("features side by side average by how many they are") {
  Numbers numbers = calculus();
  const auto left = signal(2, 0.5, 96), right = signal(1, 0.4, 32);
  const auto y = concat_forward(numbers, beside(96, 32), left, right, {8, 1});
  CHECK(y.width == 128);
  CHECK(y.x.second == rounded(0.75 * 2 + 0.25, 64));
  CHECK(y.x.cross == rounded(0.75 * 0.5 + 0.25 * 0.4, 64));
  // E x^4 = 3 (3/4 4 + 1/4 1) where both are Gaussian.
  CHECK(y.kurtosis == rounded(3 * 3.25 / (1.75 * 1.75), 64));
}

// 128 features of one kind are 96 and 32 of it: their sizes and overlaps fluctuate as those.
TEST_CASE("a concatenation of independent features of one size is wider features") {
  Numbers numbers = calculus();
  auto left = signal(1, 0.3, 96), right = signal(1, 0.3, 32);
  const auto all = signal(1, 0.3, 128);
  right.spread.susceptibility = 0;
  right.overlap = {0, right.overlap.variance() + right.fresh};
  right.fresh = 0;
  const auto y = concat_forward(numbers, beside(96, 32), left, right, {8, 1});
  CHECK(y.spread.token_variance == near(all.spread.token_variance));
  CHECK(y.spread.batch_variance == near(all.spread.batch_variance));
  const double whole = all.overlap.variance() + all.fresh;
  CHECK(y.overlap.variance() == near(whole));
  CHECK(y.kurtosis == rounded(3, 64));
}

TEST_CASE("both parts of a concatenation get the gradient that weights give any feature") {
  const std::string text = model(
      op("linear", "width = 24\n") + op("concat") + op("linear", "width = 8\n", "layer.layers") +
      op("linear", "width = 12\n") + op("activation", "activation = \"tanh\"\n"));
  const Trace trace = trace_of_model(text);
  const Site &joined = site(trace, "concat[0]"), &inner = site(trace, "concat[0].linear[0]"),
             &stream = site(trace, "linear[0]");
  CHECK(joined.width == 32);
  CHECK(joined.second.value == near(0.75 * stream.second.value + 0.25 * inner.second.value));
  // Weights have no part along the signal here but what the head's own bring back, far below.
  const double own = joined.grad_second.value;
  CHECK(std::fabs(inner.grad_second.value / own - 1) < 0.02);
  // What comes back over the inner layer adds to the stream's own.
  const double back = 8 * inner.grad_second.value / 24;
  CHECK(std::fabs(stream.grad_second.value / (own + back) - 1) < 0.02);
}

TEST_CASE("a norm over samples behind a concatenation divides both parts by their own size") {
  const std::string branch = op("linear", "width = 24\nstd = 1\n", "layer.layers");
  const std::string text = model(op("linear", "width = 24\nstd = 0.1\n") + op("concat") + branch +
                                     op("norm", "norm = \"batchnorm\"\neps = 0\n") +
                                     op("linear", "width = 12\n") + op("activation"),
                                 "batch = 8\n");
  const Trace trace = trace_of_model(text);
  const Site &stream = site(trace, "linear[0]"), &inner = site(trace, "concat[0].linear[0]"),
             &joined = site(trace, "concat[0]"), &norm = site(trace, "norm[0]");
  CHECK(norm.second.value == near(1));
  // All samples of both have one correlation, so that the ratio of 1/s2 is that of E x^2.
  const double small = stream.second.value, large = inner.second.value;
  CHECK(large / small == near(24));
  const double of_branch = inner.grad_second.value / joined.grad_second.value;
  CHECK(of_branch == near(2 * small / (small + large)));
}
