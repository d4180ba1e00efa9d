#include "moments/layers/parallel.hpp"

#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {

std::string block(const std::string& more) {
  return "model = {kind=\"transformer\", layers=3, width=4096, heads=32, ffn=8192, sequence=8, "
         "activation=\"relu\", placement=\"pre\"" +
         more + "}\n";
}

}  // namespace

TEST_CASE("branches add their seconds and crosses, and follow their start together") {
  Numbers numbers = calculus();
  auto left = signal(2, 0.5, 64), right = signal(1, 0.4, 64);
  left.overlap = {0.1, 0.002};
  right.overlap = {0.03, 0.001};
  const auto start = signal(1, 0.3, 64);
  left.spread.susceptibility = 0.6;
  right.spread.susceptibility = 0.9;
  BranchSum made;
  const auto y = branches_forward(numbers, start.spread, left, right, {8, 1}, made);
  CHECK(y.x.second == rounded(3, 64));
  CHECK(y.x.cross == rounded(0.9, 64));
  CHECK(y.overlap.coherent == rounded(0.13, 64));
  CHECK(y.overlap.noise == rounded(0.003, 64));
  CHECK(made.share == rounded(2.0 / 3, 64));
  CHECK(y.spread.susceptibility == rounded(0.7, 64));
}

// Both branches are the start itself times a factor: their sum fluctuates as the start does.
TEST_CASE("what two branches have of their start's fluctuation adds up with one sign") {
  Numbers numbers = calculus();
  const auto start = signal(1, 0.3, 1 << 20);
  const auto sum = [&](double follows, std::int64_t width) {
    NormVariance branch = start.spread;
    branch.susceptibility = follows;
    return through_branches(start.spread, branch, branch, start.x, start.x,
                            static_cast<double>(width), {8, 1});
  };
  // Their scalar product adds 4 p (1 - p)/d, and 0 for an infinite d.
  const NormVariance same = sum(1, std::int64_t{1} << 60);
  CHECK(same.batch_variance == near(start.spread.batch_variance));
  CHECK(same.distance_variance == near(start.spread.distance_variance));
  CHECK(sum(0, std::int64_t{1} << 60).batch_variance == near(start.spread.batch_variance / 2));
}

TEST_CASE("a parallel block adds both branches to the stream that they read") {
  for (const char* norms : {"", ", branch_norms=true"}) {
    const Trace trace = trace_of_model(block(", parallel=true" + std::string(norms)));
    double stream = site(trace, "input").second.value;
    for (int l = 0; l < 3; ++l) {
      const std::string path = "block[" + std::to_string(l) + "]";
      const double both =
          site(trace, path + ".attn.o").second.value + site(trace, path + ".ffn.out").second.value;
      CHECK(site(trace, path + ".branches").second.value == near(both));
      stream += both;
      CHECK(site(trace, path).second.value == near(stream));
    }
  }
}

TEST_CASE("one norm or two make no difference to the moments of a parallel block") {
  const Trace one = trace_of_model(block(", parallel=true"));
  const Trace two = trace_of_model(block(", parallel=true, branch_norms=true"));
  REQUIRE(one.parameters.size() == two.parameters.size());
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    CAPTURE(one.parameters[i].path);
    CHECK(one.parameters[i].path == two.parameters[i].path);
    CHECK(one.parameters[i].second.value == two.parameters[i].second.value);
    // The norm takes the part along its input out of the sum of both gradients or of each: order
    // 1/d of the part.
    CHECK(one.parameters[i].grad_second.value ==
          near(two.parameters[i].grad_second.value, 3.0 / 4096));
  }
}

// The same block as a list of layers writes it, with a residual whose shortcut is the attention.
TEST_CASE("a parallel block is the nested residual that a list of layers has") {
  const Trace nested = trace_of_model(R"(
[model]
kind = "layers"
features = 2048
classes = 64
sequence = 8
activation = "relu"
norm = "layernorm"
[[layer]]
type = "residual"
[[layer.layers]]
type = "norm"
[[layer.layers]]
type = "residual"
[[layer.layers.layers]]
type = "linear"
width = 4096
[[layer.layers.layers]]
type = "activation"
[[layer.layers.layers]]
type = "linear"
width = 2048
[[layer.layers.shortcut]]
type = "attention"
heads = 16
[[layer]]
type = "norm"
)");
  const Trace block = trace_of_model(
      "model = {kind=\"transformer\", layers=1, width=2048, heads=16, ffn=4096, sequence=8, "
      "activation=\"relu\", placement=\"pre\", parallel=true, vocab=64}\n");
  CHECK(site(block, "block[0]").second.value == near(site(nested, "residual[0]").second.value));
  CHECK(site(block, "block[0]").cross.value ==
        near(site(nested, "residual[0]").cross.value, 1.0 / 2048));
}
