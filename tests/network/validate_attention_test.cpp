#include "problem.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("heads divide the width, and the hint does") {
  ModelSpec spec;
  spec.width = 65;
  CHECK_THROWS_WITH_AS(validate(spec),
                       "[attention] heads must divide width (heads 4, width 65); use width 64 or "
                       "68, or heads 5",
                       Error);
  CHECK_THROWS_WITH_AS(validate(spec, "--width"),
                       "[attention] heads must divide width (heads 4, width 65) (--width); use "
                       "width 64 or 68, or heads 5",
                       Error);
  spec.width = 3;
  CHECK_THROWS_WITH_AS(validate(spec),
                       "[attention] heads must divide width (heads 4, width 3); use width 4, or "
                       "heads 3",
                       Error);
  spec.width = 999983;  // a prime
  spec.heads = 600000;
  CHECK_THROWS_WITH_AS(validate(spec),
                       "[attention] heads must divide width (heads 600000, width 999983); use "
                       "width 600000 or 1200000, or heads 999983",
                       Error);
}

TEST_CASE("heads of their own width need no divisor of the model's") {
  CHECK(problem([](ModelSpec& s) {
          s.heads = 7;
          s.head_width = 5;
        }).empty());
  CHECK(problem([](ModelSpec& s) {
          s.heads = 6;
          s.kv_heads = 4;
          s.head_width = 5;
        }) == "[attention] kv_heads must divide heads (kv_heads 4, heads 6)");
  CHECK(problem([](ModelSpec& s) { s.head_width = -1; }) ==
        "head_width must be from 1 to 1000000, got -1");
  CHECK(problem([](ModelSpec& s) {
          s.placement = Placement::sub_ln;
          s.heads = s.head_width = 1;
        }) == "layernorm of a single feature is always 0");
}

TEST_CASE("rotary positions turn pairs of features of a head") {
  const auto rotary = [](double base, double fraction, std::int64_t head_width) {
    return problem([=](ModelSpec& s) {
      s.rotary_base = base;
      s.rotary_fraction = fraction;
      s.head_width = head_width;
    });
  };
  for (const double base : {1.5, 10000.0, 1e12}) CHECK(rotary(base, 1, 5).empty());
  for (const double base : {0.5, 1.0}) CHECK(rotary(base, 1, 4).starts_with("rotary_base must"));
  CHECK(rotary(-1, 1, 4) == "rotary_base must be finite and not negative, got -1");
  CHECK(rotary(inf, 1, 4) == "rotary_base must be finite and not negative, got inf");
  CHECK(rotary(10000, 0, 4) == "rotary_fraction must be above 0 and at most 1, got 0");
  CHECK(rotary(10000, 2, 4) == "rotary_fraction must be from 0 to 1, got 2");
  CHECK(rotary(10000, 0.25, 8).empty());
  CHECK(rotary(10000, 1, 1) == "rotary positions turn pairs of features, and a head of 1 has none");
  CHECK(rotary(0, 0.5, 4) == "rotary_fraction is of rotary positions, and there are none");
}

TEST_CASE("ALiBi is of causal models, and the one thing that says where tokens stand") {
  const auto alibi = [](double factor, const auto& change) {
    return problem([&](ModelSpec& s) {
      s.alibi = factor;
      s.causal = true;
      change(s);
    });
  };
  const auto nothing = [](ModelSpec&) {};
  for (const double factor : {0.0, 0.125, 1.0}) CHECK(alibi(factor, nothing).empty());
  CHECK(alibi(-1, nothing) == "alibi must be finite and not negative, got -1");
  CHECK(alibi(inf, nothing) == "alibi must be finite and not negative, got inf");
  CHECK(alibi(1, [](ModelSpec& s) {
          s.causal = false;
        }).starts_with("alibi counts tokens back from a query"));
  CHECK(alibi(1, [](ModelSpec& s) { s.rotary_base = 100; }) ==
        "alibi and rotary positions are two ways of saying where tokens stand");
  CHECK(alibi(1, [](ModelSpec& s) { s.residual_attention = true; }) ==
        "residual_attention would add alibi once more in each block");
}

TEST_CASE("relative biases have buckets for both directions, and no other positions beside them") {
  const auto relative = [](std::int64_t buckets, const auto& change) {
    return problem([&](ModelSpec& s) {
      s.relative_buckets = buckets;
      change(s);
    });
  };
  const auto nothing = [](ModelSpec&) {};
  const auto masked = [](ModelSpec& s) { s.causal = true; };
  for (const std::int64_t buckets : {0, 4, 32, 254}) CHECK(relative(buckets, nothing).empty());
  CHECK(relative(2, masked).empty());
  CHECK(relative(2, nothing) == "relative_buckets must be even and at least 4, got 2");
  CHECK(relative(7, masked) == "relative_buckets must be even and at least 2, got 7");
  CHECK(relative(256, nothing) ==
        "relative_distance must be above half of the buckets (distance 128, buckets 256)");
  CHECK(relative(8, [](ModelSpec& s) { s.relative_std = Expr(-1); }) ==
        "relative_std must be finite and not negative, got -1");
  CHECK(relative(8, [](ModelSpec& s) { s.rotary_base = 100; }) ==
        "relative_buckets and rotary positions are two ways of saying where tokens stand");
  CHECK(relative(8, [](ModelSpec& s) { s.alibi = 1, s.causal = true; }) ==
        "relative_buckets and alibi are two ways of saying where tokens stand");
  CHECK(relative(8, [](ModelSpec& s) { s.residual_attention = true; }) ==
        "relative_buckets would be added once more in each block");
  CHECK(relative(8, [](ModelSpec& s) { s.window = 2, s.causal = true; }) ==
        "relative_buckets have no rule for keys that a window hides");
  CHECK(relative(8, [](ModelSpec& s) { s.class_tokens = 1, s.norm_eps = 1e-6; }) ==
        "relative_buckets are of tokens in a row, which class tokens are not");
}

TEST_CASE("caps of scores and logits are finite, and of scores that are not added up") {
  for (const auto cap : {&ModelSpec::attention_softcap, &ModelSpec::logit_softcap}) {
    const std::string name =
        cap == &ModelSpec::logit_softcap ? "logit_softcap" : "attention_softcap";
    const auto tried = [&](double value) { return problem([&](ModelSpec& s) { s.*cap = value; }); };
    for (const double value : {0.0, 0.5, 50.0}) CHECK(tried(value).empty());
    CHECK(tried(-1) == name + " must be finite and not negative, got -1");
    CHECK(tried(inf) == name + " must be finite and not negative, got inf");
    CHECK(tried(1e-30).empty());
    CHECK(tried(5e-324) == name + " must be 0 or at least 1e-30, got 5e-324");
    CHECK(tried(1e61) == name + " must be at most 1e+60, got 1e+61");
  }
  CHECK(problem([](ModelSpec& s) {
          s.attention_softcap = 50;
          s.residual_attention = true;
        }) == "residual_attention adds scores up, and attention_softcap bends each layer's");
  const auto with_biases = [&](bool bias, std::int64_t window) {
    return problem([&](ModelSpec& s) {
      s.attention_softcap = 50;
      s.bias = bias;
      s.causal = true;
      s.window = window;
    });
  };
  CHECK(with_biases(true, 0).empty());
  CHECK(with_biases(false, 4).empty());
  CHECK(with_biases(true, 4) ==
        "attention_softcap of keys with biases has no rule beside a window or alibi");
}

TEST_CASE("windows are of causal models, in the blocks of a pattern") {
  const auto window = [](std::int64_t size, const auto& change) {
    return problem([&](ModelSpec& s) {
      s.window = size;
      s.causal = true;
      change(s);
    });
  };
  const auto nothing = [](ModelSpec&) {};
  for (const std::int64_t size : {0, 1, 4, 1000000}) CHECK(window(size, nothing).empty());
  CHECK_FALSE(window(-1, nothing).empty());
  CHECK(window(4, [](ModelSpec& s) {
          s.causal = false;
        }).starts_with("window is of the tokens before a query"));
  CHECK(window(4, [](ModelSpec& s) { s.residual_attention = true; }) ==
        "residual_attention adds the scores of keys that a window hides");
  CHECK(window(4, [](ModelSpec& s) { s.window_pattern = "LG"; }).empty());
  CHECK(window(0, [](ModelSpec& s) { s.window_pattern = "LG"; }) ==
        "window_pattern says which blocks have the window, and there is none");
}
