#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "problem.hpp"
#include "small_model.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

/// A model of one block whose heads have 16 features.
ModelSpec turned(double base, const RotaryStretch& stretch) {
  ModelSpec spec = small();
  spec.head_width = 16;
  spec.rotary_base = base;
  spec.rotary = stretch;
  return spec;
}

/// A row of rotary_reference.py.
struct Reference {
  double base, fraction;
  std::int64_t tokens;
  RotaryStretch stretch;
  double attention;
  std::vector<double> theta;
};

const std::vector<Reference>& references() {
  using Scaling = RotaryScaling;
  const std::string near = "1 1.1 1.2 1.3", far = "1.0  2.5 9 40 ";
  static const std::vector<Reference> rows = {
      {1e4,
       1,
       1,
       {.scaling = Scaling::linear, .factor = 3},
       1,
       {0.333333343, 0.105409257, 0.0333333351, 0.0105409259, 0.00333333318, 0.00105409266,
        0.000333333359, 0.000105409265}},
      {1e4,
       1,
       4096,
       {.scaling = Scaling::dynamic, .factor = 2, .original = 1024},
       1,
       {1, 0.239481375, 0.057351321, 0.0137345716, 0.00328917382, 0.00078769587, 0.000188638471,
        4.51753949e-05}},
      {5e5,
       1,
       1,
       {.scaling = Scaling::llama3, .factor = 8, .original = 8192},
       1,
       {1, 0.193922758, 0.0376060307, 0.00729266508, 0.000524846022, 3.42810235e-05, 6.64786967e-06,
        1.28917316e-06}},
      {1e6,
       1,
       1,
       {.scaling = Scaling::yarn, .factor = 4, .original = 4096},
       1.138629436111989,
       {1, 0.177827939, 0.023717083, 0.00281170662, 0.000250000012, 4.44569851e-05, 7.90569356e-06,
        1.40585337e-06}},
      {1e4,
       0.5,
       1,
       {.scaling = Scaling::yarn,
        .factor = 40,
        .original = 4096,
        .low = 2,
        .high = 16,
        .truncate = false},
       1.3688879454113936,
       {1, 0.100000001, 0.00579010462, 2.49999994e-05}},
      {1e4,
       0.5,
       8192,
       {.scaling = Scaling::longrope,
        .factor = 32,
        .original = 4096,
        .short_factors = near,
        .long_factors = far},
       1.1902380714238083,
       {1, 0.0399999991, 0.00111111114, 2.49999994e-05}},
      {1e4,
       0.5,
       4096,
       {.scaling = Scaling::longrope,
        .factor = 32,
        .original = 4096,
        .short_factors = near,
        .long_factors = far},
       1.1902380714238083,
       {1, 0.0909090936, 0.00833333284, 0.00076923077}}};
  return rows;
}

}  // namespace

TEST_CASE("rotary frequencies are those of transformers") {
  // Made in float by a power, up to four products and a sum.
  constexpr double rounding = 8 * static_cast<double>(std::numeric_limits<float>::epsilon());
  for (const Reference& row : references()) {
    ModelSpec spec = turned(row.base, row.stretch);
    spec.rotary_fraction = row.fraction;
    spec.sequence = row.tokens;
    const Network network = build_network(spec);
    const Rotary& rotary = attention(network, 0).rotary;
    CAPTURE(rotary.width);
    CHECK(rotary.attention == rounded(row.attention, 4));
    const std::vector<double> theta = rotary_frequencies(rotary);
    REQUIRE(theta.size() == row.theta.size());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      CAPTURE(i);
      CHECK(std::fabs(theta[i] / row.theta[i] - 1) <= rounding);
    }
  }
}

TEST_CASE("rotary positions without a scaling, and within its first training, stay as they are") {
  const std::vector<double> plain = rotary_frequencies({4, 100.0});
  CHECK(plain.size() == 2);
  CHECK(plain[0] == 1);
  CHECK(plain[1] == rounded(0.1, 2));
  RotaryStretch stretch{.scaling = RotaryScaling::dynamic, .factor = 4, .original = 24};
  const Network network = build_network(turned(1e4, stretch));
  const Rotary& rotary = attention(network, 0).rotary;
  CHECK(rotary.theta == rotary_frequencies({16, 1e4}));
  CHECK(rotary.attention == 1);
}

TEST_CASE("blocks with a window have rotary positions of their own base, which nothing slows") {
  ModelSpec spec = turned(1e6, {.scaling = RotaryScaling::linear, .factor = 8});
  spec.layers = 3;
  spec.causal = true;
  spec.window = 4;
  spec.window_pattern = "LG";
  spec.rotary_fraction = 0.5;
  const Network shared = build_network(spec);
  spec.rotary_local_base = 1e4;
  const Network apart = build_network(spec);
  for (std::size_t block = 0; block < 3; ++block) {
    const Rotary& rotary = attention(apart, 2 * block).rotary;
    CHECK(attention(shared, 2 * block).rotary == attention(shared, 0).rotary);
    CHECK(rotary.base == (block % 2 == 0 ? 1e4 : 1e6));
    CHECK(rotary.width == 8);
    CHECK(rotary.theta.empty() == (block % 2 == 0));
  }
}

TEST_CASE("what is wrong with a rotary scaling is said in one line") {
  const auto refused = [](const auto& change) {
    return problem([&](ModelSpec& s) {
      s.rotary_base = 1e4;
      s.head_width = 4;
      s.rotary = {.scaling = RotaryScaling::llama3, .factor = 8, .original = 8192};
      change(s);
    });
  };
  CHECK(refused([](ModelSpec&) {}).empty());
  CHECK(refused([](ModelSpec& s) { s.rotary_base = 0; }) ==
        "rotary_scaling is of rotary positions, and there are none");
  CHECK(refused([](ModelSpec& s) { s.rotary.scaling = RotaryScaling::none; }) ==
        "rotary_scaling none has no rotary_factor");
  CHECK(refused([](ModelSpec& s) { s.rotary.scaling = RotaryScaling::linear; }) ==
        "rotary_scaling linear has no rotary_original");
  CHECK(refused([](ModelSpec& s) { s.rotary.truncate = false; }) ==
        "rotary_scaling llama3 has no rotary_truncate");
  CHECK(refused([](ModelSpec& s) { s.rotary.short_factors = "1 1"; }) ==
        "rotary_scaling llama3 has no rotary_short");
  CHECK(refused([](ModelSpec& s) { s.rotary.attention = 1.5; }) ==
        "rotary_scaling llama3 has no rotary_attention");
  for (const double factor : {0.0, -1.0, inf, not_a_number})
    CHECK(refused([&](ModelSpec& s) {
            s.rotary.factor = factor;
          }).starts_with("rotary_factor must be finite and positive"));
  CHECK(refused([](ModelSpec& s) { s.rotary.original = 0; }) ==
        "rotary_scaling llama3 asks for rotary_original, the tokens of the first training");
  CHECK(refused([](ModelSpec& s) { s.rotary.original = -1; }) ==
        "rotary_original must be a number of tokens, got -1");
  CHECK(refused([](ModelSpec& s) { s.rotary.original = 10485760; }).empty());
  CHECK(refused([](ModelSpec& s) { s.rotary.low = 4; }) ==
        "rotary_high must be above rotary_low, got 4 and 4");
  CHECK(refused([](ModelSpec& s) {
          s.rotary.high = inf;
        }).starts_with("rotary_high must be finite and not negative"));
}

TEST_CASE("longrope has a number for each pair of features") {
  const auto refused = [](const auto& change) {
    return problem([&](ModelSpec& s) {
      s.rotary_base = 1e4;
      s.head_width = 4;
      s.rotary = {.scaling = RotaryScaling::longrope,
                  .factor = 8,
                  .original = 8192,
                  .short_factors = "1 1.5",
                  .long_factors = "1 4"};
      change(s.rotary);
    });
  };
  CHECK(refused([](RotaryStretch&) {}).empty());
  CHECK(refused([](RotaryStretch& s) { s.short_factors = "1"; }) ==
        "rotary_short has 1 numbers, and 2 pairs of a head's features turn");
  CHECK(refused([](RotaryStretch& s) { s.long_factors.clear(); }) ==
        "rotary_long has 0 numbers, and 2 pairs of a head's features turn");
  for (const char* wrong : {"1 x", "1 -2", "1 0", "1,2", "1 inf", "1 2x"})
    CHECK(refused([&](RotaryStretch& s) { s.long_factors = wrong; }) ==
          "rotary_long must be positive numbers between blanks");
  CHECK(refused([](RotaryStretch& s) { s.original = 1; }) ==
        "what longrope multiplies features by asks for rotary_original above 1");
  CHECK(refused([](RotaryStretch& s) {
          s.original = 1;
          s.attention = 1.25;
        }).empty());
  CHECK(refused([](RotaryStretch& s) {
          s.attention = inf;
        }).starts_with("rotary_attention must be finite and not negative"));
}

TEST_CASE("a base of blocks with a window asks for both") {
  const auto refused = [](double base, double local, std::int64_t window) {
    return problem([=](ModelSpec& s) {
      s.causal = true;
      s.rotary_base = base;
      s.rotary_local_base = local;
      s.window = window;
    });
  };
  CHECK(refused(1e6, 1e4, 4).empty());
  CHECK(refused(0, 1e4, 4) == "rotary_local_base is of rotary positions, and there are none");
  CHECK(refused(1e6, 1e4, 0) == "rotary_local_base is of blocks with a window, and there is none");
  CHECK(refused(1e6, 1, 4) == "rotary_local_base must be finite and above 1, got 1");
  CHECK(refused(1e6, -1, 4) == "rotary_local_base must be finite and not negative, got -1");
}
