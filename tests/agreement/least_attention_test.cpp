#include "support.hpp"

/// The least forms of random models that have failed (tools/bench calibration --shrink), of
/// attention and of what its tokens are made of, one for each rule that was off.
namespace scalecalc {
namespace {

constexpr int seeds = 64;

void agree_with_text(const char* name, const std::string& fields) {
  const std::string text =
      "[model]\nkind = \"transformer\"\nlayers = 1\nffn = 48\nactivation = \"identity\"\n"
      "norm_eps = 0\n" +
      fields;
  agree(name, parse_model(text, name), seeds);
}

const char* const patches = "[input]\nkind = \"gaussian\"\nsecond = 1\npatch = 8\n";

// Scores of normed keys know nothing of their tokens' sizes. As if a class token of 300 times the
// patches' size had scores as much larger, the mix was 56 times too large.
TEST_CASE("normed keys of a class token before small patches") {
  agree_with_text("bert", std::string("width = 48\nheads = 1\nvocab = 10\nsequence = 4\n"
                                      "norm = \"none\"\nplacement = \"none\"\nqk_norm = true\n"
                                      "class_tokens = 1\n[init]\nscheme = \"bert\"\n") +
                              patches + "class_std = 1\n");
}

// Of unit vectors of 18 features, whose scores of variance 18 are 18 at most, two rows had 1.8
// times the overlap that they have; a norm over all features of one head is the same.
TEST_CASE("sharp rows of unit vectors") {
  for (const char* norm : {"qk_norm = true\n", "qk_norm = true\nqk_norm_all = true\n"})
    agree_with_text("sharp", std::string("width = 18\nheads = 1\nvocab = 10\nsequence = 48\n"
                                         "norm = \"none\"\nplacement = \"none\"\n"
                                         "attention_scale = 1\n") +
                                 norm + "[init]\nscheme = \"lecun\"\n");
}

// A table makes nearly all of the sizes that the norm divides by: the gradient of the patches'
// weights was a fifth too small, as if the patches made them.
TEST_CASE("patches below a table of positions and a norm") {
  agree_with_text("post", std::string("width = 48\nheads = 1\nvocab = 300\nsequence = 48\n"
                                      "norm = \"rmsnorm\"\nplacement = \"post\"\n"
                                      "[init]\nscheme = { std = 0.1 }\n") +
                              patches + "positions = 1\n");
}

// Behind branches that add nothing the norm divides by the patches' own size, which a sum forgot:
// their weights' gradient was a quarter too large.
TEST_CASE("patches below residual sums and a norm") {
  agree_with_text("skipinit", std::string("width = 64\nheads = 1\nvocab = 300\nsequence = 4\n"
                                          "batch = 2\nnorm = \"layernorm\"\n"
                                          "placement = \"skipinit\"\n[init]\nscheme = \"bert\"\n") +
                                  patches);
}

// The first row of a causal mask has one key and no slope, whatever word asks: two queries had as
// much in common as one word's.
TEST_CASE("two queries under a causal mask") {
  agree_with_text("gpt2",
                  "width = 48\nheads = 4\nkv_heads = 1\nhead_width = 7\nvocab = 10\n"
                  "sequence = 2\ncausal = true\nnorm = \"none\"\nplacement = \"none\"\n"
                  "tie_head = true\n[init]\nscheme = \"gpt2\"\n"
                  "[input]\nkind = \"tokens\"\nsecond = 1\n");
}

// One token's size moves the scores of its own row and one value in T. As if it moved all, sizes of
// tokens grew from block to block, and the mix of a memory behind three was 1.5 times too large.
TEST_CASE("sizes of tokens behind norms over samples and attention") {
  const std::string text =
      "[model]\nkind = \"transformer\"\nlayers = 3\nwidth = 48\nheads = 4\nffn = 96\nvocab = 10\n"
      "sequence = 12\nactivation = \"identity\"\nencoder_decoder = true\nnorm = \"batchnorm\"\n"
      "norm_eps = 0\nplacement = \"post\"\n[init]\nscheme = \"he\"\n"
      "[input]\nkind = \"gaussian\"\nsecond = 1\ncross = 0\n"
      "[memory]\nsequence = 12\nsecond = 1\ncross = 0\n";
  agree("two stacks", parse_model(text, "two stacks"), seeds);
}

// The largest of unequal keys get the weight of all queries: rows had a fifth in common of what
// passes have.
TEST_CASE("sharp attention over tokens of unequal sizes") {
  for (const char* second : {"2", "8"}) {
    const std::string text =
        "[model]\nkind = \"layers\"\nfeatures = 15\nclasses = 3\nsequence = 36\nbatch = 4\n"
        "[init]\nscheme = \"lecun\"\n[input]\nkind = \"gaussian\"\ncross = 0.2\nsecond = " +
        std::string(second) +
        "\n[[layer]]\ntype = \"gated\"\nwidth = 31\nactivation = \"silu\"\n"
        "[[layer]]\ntype = \"attention\"\nkv_heads = 1\n";
    agree("gated", parse_model(text, "gated"), seeds);
  }
}

// A gradient along few features overlaps over sequences as its tokens do, and so do their scores'
// gradients: the weights of queries and keys had two thirds of what passes have. Along a stream
// that no norm closes, what attention brings back of other tokens meets what comes by the skip:
// input crosses were a tenth too small.
TEST_CASE("several sequences of few features, and a loss along them") {
  const auto list = [](const char* name, int features, int tokens) {
    const std::string text =
        "[model]\nkind = \"layers\"\nclasses = 64\nbatch = 4\nsequence = " +
        std::to_string(tokens) + "\nfeatures = " + std::to_string(features) +
        "\n[init]\nweight_variance = 0.5\n"
        "[input]\nkind = \"gaussian\"\nsecond = 2\ncross = 0.2\n"
        "[loss]\nkind = \"mse\"\ntarget_second = 1\n"
        "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\ntype = \"norm\"\n"
        "norm = \"layernorm\"\n[[layer.layers]]\ntype = \"attention\"\nheads = 2\n";
    agree(name, parse_model(text, name), seeds);
  };
  list("weights", 32, 36);
  list("crosses", 128, 9);
}

}  // namespace

// A rule that moves the cosine of nearly equal tokens a little each norm loses it in depth, and
// bands that grow with it hide that: the prediction itself is held to the passes.
TEST_CASE("equal tokens under attention dropout stay close in depth") {
  const std::string text =
      "[model]\nkind = \"transformer\"\nlayers = 12\nwidth = 16\nheads = 2\nffn = 64\nvocab = 64\n"
      "sequence = 24\nnorm = \"layernorm\"\nplacement = \"post\"\nattention_dropout = 0.5\n"
      "[input]\nkind = \"gaussian\"\nsecond = 1\ncross = 1\n";
  VerifyOptions options;
  options.seeds = 24;
  options.threads = 2;
  const Verification made = verify_network(build_network(parse_model(text, "deep")), options);
  CHECK(made.passed);
  int compared = 0;
  for (const Comparison& site : made.sites) {
    if (site.path != "block[11].ffn" || site.quantity != "cross") continue;
    // 1 - c is known to half of itself: what first orders in 1/width leave of 16 features.
    CHECK((1 - site.predicted) < 1.5 * (1 - site.measured) + 3 * site.standard_error);
    ++compared;
  }
  CHECK(compared == 1);
}

}  // namespace scalecalc
