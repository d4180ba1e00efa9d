#include "moments/layers/gated.hpp"

#include <cmath>

#include "moments/layers/dropout.hpp"
#include "moments/linear_map.hpp"
#include "support.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

namespace {
const Counts one_sequence{8, 1};
}

TEST_CASE("a gated unit multiplies moments and passes each factor's back") {
  Numbers numbers = calculus();
  auto gate = signal(1, 0.4, 512), in = signal(2, 0.6, 512);
  gate.overlap = in.overlap = {};
  GatedRecord<Pairs> record;
  const auto phi = numbers.function("relu");
  const auto y = gated_forward(numbers, phi, gate, in, one_sequence, record);
  const double pair = PairFunction(Activation::named("relu"), Moment::cross, 0, 1)(0.4).value;
  const double slopes =
      PairFunction(Activation::named("relu"), Moment::slope_cross, 0, 1)(0.4).value;
  CHECK(y.x.mean == 0);
  CHECK(y.x.second == near(0.5 * 2));
  CHECK(y.x.cross == near(pair * 0.6, 10 * by_quadrature));
  const auto back = gated_backward(record, Pairs{0, 3, 1, 0});
  CHECK(back.in.second == near(3 * 0.5));
  CHECK(back.in.cross == near(pair, 10 * by_quadrature));
  CHECK(back.gate.second == near(3 * 0.5 * 2));
  CHECK(back.gate.cross == near(slopes * 0.6, 10 * by_quadrature));
}

// Notes 5: r += V_R dK/dr, V_R the variance of the overlap that both factors see.
TEST_CASE("both factors see the same realised overlap") {
  Numbers numbers = calculus();
  auto gate = signal(1, 0.4, 512), in = signal(1, 0.4, 512);
  gate.overlap = in.overlap = {0, 0.01};
  GatedRecord<Pairs> record;
  const auto phi = numbers.function("identity");
  const auto y = gated_forward(numbers, phi, gate, in, one_sequence, record);
  CHECK(y.x.cross == near(0.16 + 0.01));
}

// relu: E phi^4 = 3/2, E phi^2 = 1/2, and phi phi' = phi. A gradient y is phi^2 w at w and phi w^2
// at u.
TEST_CASE("a gradient along a gated unit's output knows both factors") {
  Numbers numbers = calculus();
  auto gate = signal(1, 0, 512), in = signal(2, 0, 512);
  gate.overlap = in.overlap = {};
  GatedRecord<Pairs> record;
  const auto y = gated_forward(numbers, numbers.function("relu"), gate, in, one_sequence, record);
  const auto apart = gated_backward(record, y.x);
  // Steps of 0.04: the kink costs their square.
  constexpr double kink = 2e-3;
  CHECK(apart.in.second + record.own_in.second == near(1.5 * 2, kink));
  CHECK(apart.gate.second + record.own_gate.second == near(0.5 * 3 * 4, kink));
  // Independent tokens: E phi_t^2 phi_u^2 E w_t w_u is 0, (E phi)^2 (E w^2)^2 is not.
  CHECK(std::fabs(apart.in.cross + record.own_in.cross) < kink);
  const double mean = 1 / std::sqrt(2 * std::acos(-1.0));
  CHECK(record.own_gate.cross == near(mean * mean * 4, kink));
  CHECK(record.along_in == near(0.5, kink));
  CHECK(record.along_gate == near(0.5 * 2, kink));
}

TEST_CASE("a gate that jumps has a signal and no gradient, of equal tokens too") {
  Numbers numbers = calculus();
  const auto phi = numbers.function("hardshrink");
  for (const double c : {-0.5, 0.4, 0.999999, 1.0}) {
    CAPTURE(c);
    GatedRecord<Pairs> record;
    const auto y =
        gated_forward(numbers, phi, signal(1, c, 512), signal(2, 2 * c, 512), one_sequence, record);
    const double pair = quadrature(Activation::named("hardshrink"), Moment::cross, {0, 1, c}).value;
    // dK/dr r_w realised, which adds at most what the overlap's deviation does.
    CHECK(std::fabs(y.x.cross) <= y.x.second);
    if (c == 1.0) CHECK(y.x.cross == y.x.second);
    if (c == 0.4) CHECK(y.x.cross == within(pair * 2 * c, 2.0 * 10 / 512));
  }
  const Trace trace = trace_of_model(
      "model = {kind=\"transformer\", layers=1, activation=\"hardshrink\", gated=true}");
  CHECK(site(trace, "block[0].ffn.act").second.value > 0);
  CHECK_FALSE(site(trace, "block[0].ffn.act").grad_second.is_known());
}

TEST_CASE("dropout raises seconds and leaves crosses") {
  Numbers numbers = calculus();
  const Dropout layer{"drop", 0.2};
  const auto y = dropout_forward(numbers, layer, signal(1, 0.4, 64), one_sequence);
  CHECK(y.x.second == rounded(1.25, 64));
  CHECK(y.x.cross == 0.4);
  const Pairs back = dropped(numbers, layer, Pairs{0, 2, 1, 0.5});
  CHECK(back.second == rounded(2.5, 64));
  CHECK(back.between == 0.5);
}
