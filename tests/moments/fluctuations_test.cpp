#include "moments/fluctuations.hpp"

#include <cmath>
#include <string>

#include "moments/layers/norm.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

TEST_CASE("what two tokens differ by is off by no more than both, or than is known of it") {
  RelativeError error{0.2, 0.3};
  CHECK(error.apart() == rounded(0.5, 4));
  error.know_apart(0.01);
  CHECK(error.apart() == 0.01);
  // What both get besides may be all of its own.
  error.second += 0.1;
  error.cross += 0.05;
  CHECK(error.apart() == rounded(0.16, 8));
  scale_error(error, 0.5);
  CHECK(error.second == rounded(0.15, 8));
  CHECK(error.apart() == rounded(0.08, 16));
  error.forget_apart();
  CHECK(error.apart() == error.second + error.cross);
}

// Of r/m = 1 - D/m nothing is left of what m and r are off by together but D's share.
TEST_CASE("a norm over tokens takes out what is not known of their size") {
  Numbers numbers = calculus();
  auto x = signal(1, 0.99, 512);
  x.spread = {};
  x.truncation = {0.1, 0.1};
  Norm layer;
  layer.kind = NormKind::rmsnorm;
  layer.width = 512;
  NormRecord<Pairs> record;
  const auto unknown = [&] {
    numbers.omit(0, 0);
    return norm_forward(numbers, layer, x, {8, 1}, record).truncation.cross;
  };
  CHECK(unknown() == rounded(0.2, 16));
  x.truncation.know_apart(1e-3);
  CHECK(unknown() == rounded(1e-3 + 0.01 * 0.1, 64, 1));
}

// Tokens of a cosine of 0.99 behind norms: D is a hundredth of m, and of it m's error is too.
TEST_CASE("gradients of scores are known where tokens are nearly one") {
  const Trace trace = trace_of_model(
      "model = {kind=\"transformer\", layers=4, width=64, heads=2, ffn=128, sequence=16, "
      "causal=true, activation=\"erf\", norm=\"layernorm\", placement=\"post\"}\n"
      "input = {kind=\"gaussian\", cross=0.99}");
  for (int block = 0; block < 4; ++block) {
    const std::string path = "block[" + std::to_string(block) + "].attn.k";
    const Figure& gradient = site(trace, path).grad_second;
    CAPTURE(path);
    CAPTURE(gradient.truncation / gradient.value);
    CHECK(gradient.truncation < gradient.value);
  }
}

TEST_CASE("products of pairs beyond squares are stated to be unknown") {
  RelativeError error{0.1, 0.2};
  state_impossible({0, 2, 1.9, 0}, error);
  CHECK(error.cross == 0.2);
  // What there is lies between -2 and 2, 8 from -6 at most.
  state_impossible({0, 2, -6, 0}, error);
  CHECK(error.cross == rounded(8.0 / 2, 4));
  const Alike<double> none = with_positive_second(calculus(), Alike<double>{0, -1e-3, 5, 7});
  CHECK(none.second == 0);
  CHECK(none.cross == 0);
  CHECK(none.between == 0);
}

TEST_CASE("a mean that few draws make has its own variance in the place of its logarithm's") {
  CHECK(log_variance_of(0.5) == rounded(std::log(1.5), 4));
  CHECK(log_variance_of(1e3) == 1e3);
}
