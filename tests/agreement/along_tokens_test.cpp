#include <cmath>
#include <string>

#include "support.hpp"

/// Gradients along the signals of other tokens, which attention brings back.
namespace scalecalc {
namespace {

constexpr int seeds = 64;

ModelSpec tied(bool causal, bool encoder_decoder) {
  ModelSpec spec = gated_words(4, 192, 256);
  spec.causal = causal;
  spec.encoder_decoder = encoder_decoder;
  if (encoder_decoder) spec.memory.sequence = spec.sequence;
  return spec;
}

/// Where a branch begins.
bool is_stream(const std::string& path) {
  return path.ends_with("embedding") || path.ends_with("].attn") || path.ends_with("].ffn");
}

// Behind a tied head a gradient is along the branches' outputs, and so are those of the encoder
// that the decoder's layers read: what attention brings back of it is along the mean of tokens,
// where all blocks meet. Without that overlaps of gradients grow too little from block to block:
// at the encoder's embedding they were a third too small.
TEST_CASE("gradients of two tokens behind a tied head") {
  for (const bool encoder_decoder : {false, true})
    for (const bool causal : {false, true}) {
      const std::string name =
          std::string(encoder_decoder ? "two stacks" : "one stack") + (causal ? ", causal" : "");
      CAPTURE(name);
      const Verification found = agree(name, tied(causal, encoder_decoder), seeds);
      // Products of averages of weights are taken for averages of products.
      constexpr double left_out = 0.08;
      int compared = 0;
      for (const Comparison& c : found.sites) {
        const bool of_gradient = c.quantity == "grad_second" || c.quantity == "grad_cross";
        if (!of_gradient || !is_stream(c.path)) continue;
        ++compared;
        CHECK_MESSAGE(
            std::fabs(c.measured - c.predicted) < 3 * c.standard_error + left_out * c.predicted,
            describe(c));
      }
      CHECK(compared == (encoder_decoder ? 36 : 18));
      WeightErrors errors;
      errors.add(found);
      CHECK(errors.median() < left_out / 2);
    }
}

}  // namespace
}  // namespace scalecalc
