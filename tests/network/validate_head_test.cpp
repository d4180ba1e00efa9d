#include "problem.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("the last token is read of one stack, without a mask of tokens that are alike") {
  const auto refused = [](const auto& change, bool causal = false) {
    return problem([&](ModelSpec& s) {
      s.pool = Pooling::last_token;
      s.causal = causal;
      change(s);
    });
  };
  const auto words = [](ModelSpec& s) { s.input.kind = InputKind::tokens; };
  CHECK(refused([](ModelSpec&) {}).empty());
  CHECK(refused(words, true).empty());
  CHECK(refused([](ModelSpec& s) { s.rotary_base = 100; }, true).empty());
  CHECK(refused([](ModelSpec& s) {
          s.class_tokens = 1;
          s.input.class_std = 1;
        }) == "pool = \"last\" reads a token, and class_tokens are there to be read");
  for (const bool causal : {false, true}) {
    CHECK(refused([](ModelSpec& s) { s.cross_attention = true; }, causal) ==
          "pool = \"last\" is for one stack without a memory");
    CHECK(refused([](ModelSpec& s) { s.encoder_decoder = true; }, causal) ==
          "pool = \"last\" is for one stack without a memory");
    CHECK(refused([](ModelSpec& s) { s.norm = NormKind::batchnorm; }, causal)
              .starts_with("batchnorm mixes tokens"));
  }
  CHECK(refused([](ModelSpec& s) { s.rotary_base = 100; }).starts_with("without a causal mask"));
  CHECK(refused(words).starts_with("without a causal mask pool = \"last\" needs positions"));
  CHECK(refused([&](ModelSpec& s) {
          words(s);
          s.input.positions = 0.1;
        }).empty());
  for (const Pooling pool : {Pooling::last_token, Pooling::mean})
    CHECK(problem([&](ModelSpec& s) {
            words(s);
            s.input.positions = 0.1;
            s.tie_head = true;
            s.pool = pool;
          }).starts_with("tie_head knows the word of each token"));
  CHECK(problem([](ModelSpec& s) { s.head_classes = 7; }) ==
        "head_classes is of a model of words, and the input is gaussian");
  CHECK(problem([&](ModelSpec& s) {
          words(s);
          s.head_classes = 7;
        }).empty());
  CHECK(problem([&](ModelSpec& s) {
          words(s);
          s.head_classes = 7;
          s.encoder_decoder = true;
          s.memory.features = 4;
        }).empty());
  CHECK(problem([&](ModelSpec& s) {
          words(s);
          s.head_classes = 7;
          s.tie_head = true;
        }) == "tie_head makes the words the classes of the head");
}
