#include <cmath>
#include <string>

#include "support.hpp"

/// Convolutions in a row on small images, of which most is border, beside passes
/// (docs/theory/layers.md#image-borders).
namespace scalecalc {
namespace {

constexpr int seeds = 192;

std::string head(int side, const std::string& activation = "relu") {
  return "[model]\nkind = \"layers\"\nfeatures = 16\nsequence = " + std::to_string(side * side) +
         "\nheight = " + std::to_string(side) + "\nbatch = 2\nclasses = 10\nactivation = \"" +
         activation + "\"\n[init]\nscheme = \"he\"\n";
}
std::string op(const std::string& type, const std::string& keys = "", int depth = 0) {
  std::string at = "layer";
  for (int i = 0; i < depth; ++i) at += ".layers";
  return "[[" + at + "]]\ntype = \"" + type + "\"\n" + keys;
}
std::string conv(int kernel = 3, int stride = 1, int depth = 0) {
  return op("conv2d",
            "channels = 32\nkernel = " + std::to_string(kernel) + "\npadding = " +
                std::to_string(kernel / 2) + "\nstride = " + std::to_string(stride) + "\n",
            depth);
}
std::string repeated(int count, const std::string& layers) {
  std::string all;
  for (int i = 0; i < count; ++i) all += layers;
  return all;
}
const std::string act = op("activation"), pool = op("pool");

void holds(const std::string& name, const std::string& text) {
  agree(name, parse_model(text, name), seeds);
}

}  // namespace

TEST_CASE("convolutions in a row agree with passes at the border") {
  holds("two on 4 x 4", head(4) + repeated(2, conv()) + pool);
  holds("four on 8 x 8", head(8) + repeated(4, conv() + act) + pool);
  holds("of every position", head(8) + repeated(2, conv() + act));
  holds("5 x 5 taps", head(8) + repeated(2, conv(5) + act) + pool);
  holds("strides", head(8) + conv() + act + conv(3, 2) + act + conv() + act + pool);
  holds("tanh", head(8, "tanh") + repeated(3, conv() + act) + pool);
  holds("a matrix between",
        head(8) + conv() + act + op("linear", "width = 32\n") + act + conv() + act + pool);
}

TEST_CASE("borders behind norms, sums and pools agree with passes") {
  for (const char* norm : {"batchnorm", "layernorm", "rmsnorm"})
    holds(norm,
          head(8) +
              repeated(3, conv() + op("norm", "norm = \"" + std::string(norm) + "\"\n") + act) +
              pool);
  const std::string block =
      op("residual") + conv(3, 1, 1) + op("activation", "", 1) + conv(3, 1, 1) + act;
  holds("residual", head(8) + conv() + act + repeated(2, block) + pool);
  holds("max pool", head(16) + conv() + act + op("max_pool", "kernel = 2\nstride = 2\n") +
                        repeated(2, conv() + act) + pool);
}

// Bands behind norms over samples hold what two samples overlap by chance: here it is how far off
// squares are, 5% as if positions were alike.
TEST_CASE("behind norms over samples convolutions have the squares of every position") {
  VerifyOptions options;
  options.seeds = seeds;
  for (const char* norm : {"batchnorm", "instancenorm"}) {
    CAPTURE(norm);
    const std::string text =
        head(8) + repeated(3, conv() + op("norm", "norm = \"" + std::string(norm) + "\"\n") + act) +
        pool;
    const Verification found = verify_network(build_network(parse_model(text, norm)), options);
    int sites = 0;
    for (const Comparison& c : found.sites) {
      if (c.quantity != "second" || !c.path.starts_with("conv2d")) continue;
      CAPTURE(c.path);
      ++sites;
      // Of 32 features, half of an order of 1/n.
      CHECK(std::fabs(c.measured - c.predicted) <= 4 * c.standard_error + c.predicted / 64);
    }
    CHECK(sites == 3);
  }
}

}  // namespace scalecalc
