#include "moments/attention_backward.hpp"

#include <doctest/doctest.h>

#include "attention_predicted.hpp"

using namespace scalecalc;
using namespace scalecalc::moments;
using namespace scalecalc::testing;

// A layer of 13 quantities, or of 80 under a mask, misses 5 standard errors once in 20,000 runs;
// what is added is the truncation that the rule states. At T/d = .25 the leading order alone is 15
// to 25% below q, k and their weights.
TEST_CASE("one layer of attention against its simulation") {
  AttentionCase of;
  SUBCASE("two heads") {}
  SUBCASE("independent tokens, one head") {
    of.cosine = 0;
    of.heads = of.kv_heads = 1;
    of.gradient_cross = 0.2;
  }
  SUBCASE("normalised tokens") {
    of.normalised = true;
  }
  SUBCASE("sharp scores") {
    of.q_std = 2;
    of.tokens = 10;
  }
  SUBCASE("sharp scores of independent tokens") {
    of.q_std = 2;
    of.cosine = 0;
    of.heads = of.kv_heads = 1;
    of.gradient_cross = 0.2;
  }
  compare(of, 2000, 1);
}

// Queries of d_h features have lengths of relative variance 2/d_h, which no expansion follows.
TEST_CASE("heads of few features against their simulation") {
  AttentionCase of;
  of.tokens = 6;
  of.width = 96;
  SUBCASE("one feature") {
    of.heads = of.kv_heads = 96;
  }
  double stated = 0.2;
  SUBCASE("one feature, sharp scores") {
    stated = 0.5;
    of.heads = of.kv_heads = 96;
    of.q_std = 3;
    of.cosine = 0;
    of.tokens = 12;
  }
  SUBCASE("two features, alike tokens") {
    of.heads = of.kv_heads = 48;
    of.cosine = 0.8;
  }
  SUBCASE("four features, sharp scores") {
    of.heads = of.kv_heads = 24;
    of.q_std = 2;
  }
  SUBCASE("three features, normalised, causal") {
    of.heads = of.kv_heads = 32;
    of.normalised = of.causal = true;
  }
  SUBCASE("one feature, causal") {
    of.heads = of.kv_heads = 96;
    of.causal = true;
    stated = 0.35;
  }
  compare(of, 1500, 9);
  const Predicted predicted = predict(of);
  CHECK(predicted.truncation.at("q.second") < stated * predicted.values.at("q.second"));
  CHECK(predicted.truncation.at("mix.second") < stated / 3 * predicted.values.at("mix.second"));
}

TEST_CASE("grouped queries against their simulation") {
  AttentionCase of;
  of.tokens = 8;
  of.heads = 4;
  of.kv_heads = 2;
  compare(of, 1500, 2);
}

TEST_CASE("residual attention against its simulation") {
  AttentionCase of;
  of.before = 1;
  SUBCASE("two heads") {}
  SUBCASE("three before, independent tokens, one head") {
    of.before = 3;
    of.cosine = 0;
    of.heads = of.kv_heads = 1;
    of.gradient_cross = 0.2;
  }
  SUBCASE("normalised tokens, grouped heads") {
    of.normalised = true;
    of.tokens = 8;
    of.heads = 4;
  }
  SUBCASE("causal") {
    of.causal = true;
    of.tokens = 10;
  }
  compare(of, 2000, 8);
}

TEST_CASE("the first of residual attentions is as any attention") {
  AttentionCase of;
  const Signal<Alike<double>> input = signal(moments_of(1, 0.4), of, of.tokens, 0.4);
  const Signal<Alike<double>>* const memory = nullptr;
  const Alike<double> gradient = moments_of(1, 0.5);
  const Attention layer = attention(of);
  Numbers numbers{PropagateOptions{}};
  const std::string site = "attn";
  numbers.enter(site);
  std::optional<ScoreSum<Alike<double>>> sum;
  std::optional<ScoreGradient<Alike<double>>> scores;
  const auto alone = attention_forward(numbers, layer, input, memory, {12, 1});
  const auto first = attention_forward(numbers, layer, input, memory, {12, 1}, &sum);
  CHECK(first.mix.x.second == alone.mix.x.second);
  CHECK(first.mix.x.cross == alone.mix.x.cross);
  const auto plain = attention_backward(numbers, layer, alone.record, gradient, 0);
  const auto last = attention_backward(numbers, layer, first.record, gradient, 0, {}, &scores);
  CHECK(last.q.second == plain.q.second);
  CHECK(last.k.cross == plain.k.cross);
  CHECK(last.q_weight == plain.q_weight);
  CHECK(last.k_weight == plain.k_weight);
  // d_h = 24, scale^2 = 1/24, m_q = 1, Dk = 1 - 0.4.
  CHECK(sum->covariance.second == doctest::Approx(0.6));
  CHECK(sum->covariance.cross == doctest::Approx(0.24));
  const auto second = attention_forward(numbers, layer, input, memory, {12, 1}, &sum);
  CHECK(sum->covariance.second == doctest::Approx(1.2));
  CHECK(sum->own_share == doctest::Approx(0.5));
  CHECK(sum->concentration == doctest::Approx(0.5));
  CHECK(second.mix.x.second > first.mix.x.second);
}

TEST_CASE("attention dropout against its simulation") {
  AttentionCase of;
  of.dropout = 0.3;
  compare(of, 1500, 4);
}

TEST_CASE("attention to a memory against its simulation") {
  AttentionCase of;
  of.memory = 7;
  of.memory_cosine = 0.2;
  compare(of, 1500, 5);
}

TEST_CASE("causal attention against its simulation, position by position") {
  AttentionCase of;
  of.tokens = 10;
  of.causal = true;
  compare(of, 2000, 6);
}

TEST_CASE("the order T/d is there") {
  AttentionCase of;
  of.normalised = true;
  of.width = of.tokens = 64;
  of.heads = of.kv_heads = 4;
  const double together = predict(of).values.at("q.second");
  of.width *= 1000;
  of.heads = of.kv_heads *= 1000;  // the same heads of wide tokens
  const double apart = predict(of).values.at("q.second");
  CHECK(together > 1.4 * apart);
}

TEST_CASE("tokens that are one, and a single token") {
  AttentionCase of;
  of.cosine = 1;
  Predicted one = predict(of);
  CHECK(one.values.at("mix.second") == doctest::Approx(1));
  CHECK(one.values.at("q.second") == 0);
  CHECK(one.values.at("q_weight") == 0);
  of.cosine = 0.3;
  of.tokens = 1;
  one = predict(of);
  CHECK(one.values.at("mix.second") == doctest::Approx(1));
  CHECK(one.values.at("v.second") == doctest::Approx(1));
  CHECK(one.values.at("k.second") == 0);
  of.causal = true;
  CHECK(predict(of).values.at("mix.second") == doctest::Approx(1));
}

TEST_CASE("no cosine of the mix is above 1") {
  AttentionCase of;
  SUBCASE("alike") {}
  SUBCASE("normalised") {
    of.normalised = true;
  }
  SUBCASE("causal") {
    of.causal = true;
  }
  for (const double cosine : {0.5, 0.9, 0.99, 0.9999, 0.9999999, 1.0}) {
    CAPTURE(cosine);
    of.cosine = cosine;
    const Predicted one = predict(of);
    CHECK(one.values.at("mix.cross") <= one.values.at("mix.second"));
  }
}

TEST_CASE("scores too large for single precision are named") {
  AttentionCase of;
  of.q_std = 2e6;
  CHECK_THROWS_WITH_AS(
      predict(of),
      "attention scores of variance 2.4e+12 (attn); at most 1e+12: smaller q and k "
      "weights, or a smaller scale",
      Error);
}

// An aligned part as large as the loss makes it through narrow layers; without what it brings back
// the input's gradient is 7 to 15% too small.
TEST_CASE("gradients along the mix against their simulation") {
  AttentionCase of;
  of.tokens = 8;
  of.aligned = 0.4;
  SUBCASE("two heads") {}
  SUBCASE("independent tokens, one head") {
    of.cosine = 0;
    of.heads = of.kv_heads = 1;
  }
  SUBCASE("causal") {
    of.causal = true;
  }
  compare(of, 1500, 7);
}

// The scores' gradients reach it through the keys alone: what is not known of them counts by these.
TEST_CASE("a memory's gradient is known as well as those of its keys and values") {
  const Trace trace = trace_of_model(
      "model = {kind=\"transformer\", layers=1, width=24, heads=24, ffn=48, sequence=2, "
      "encoder_decoder=true, decoder_layers=1, norm=\"layernorm\", placement=\"pre\"}\n"
      "memory = {sequence=12, second=1, cross=0}");
  const auto unknown = [&](const std::string& path) {
    const Figure& gradient = site(trace, path).grad_second;
    return gradient.truncation / gradient.value;
  };
  CHECK(unknown("encoder.final_norm") > 0);
  CHECK(unknown("encoder.final_norm") <=
        std::max(unknown("block[0].cross.k"), unknown("block[0].cross.v")));
}

// Scores of several sequences know nothing of each other: the values' cross moments go through.
TEST_CASE("between sequences") {
  AttentionCase of;
  Alike<double> tokens = moments_of(1, 0.4), gradient = moments_of(1, 0.5);
  tokens.between = 0.25;
  gradient.between = 0.125;
  Numbers numbers{PropagateOptions{}};
  const std::string site = "attn";
  numbers.enter(site);
  const Attention layer = attention(of);
  const auto forward =
      attention_forward(numbers, layer, signal(tokens, of, of.tokens, 0.4),
                        static_cast<const Signal<Alike<double>>*>(nullptr), {12, 4});
  const auto backward = attention_backward(numbers, layer, forward.record, gradient, 0);
  CHECK(forward.mix.x.between == doctest::Approx(0.25));
  CHECK(backward.v.between == doctest::Approx(0.125));
  CHECK(backward.q.between == 0);
  Alike<double> apart = gradient;
  apart.between = 0;
  const double alone = attention_backward(numbers, layer, forward.record, apart, 0).v_weight;
  CHECK(backward.v_weight == doctest::Approx(alone + 12 * 144 * 0.25 * 0.125));
}
