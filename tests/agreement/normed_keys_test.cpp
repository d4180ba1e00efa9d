#include "support.hpp"

/// Norms of queries and keys whose tokens differ in size from position to position.
namespace scalecalc {
namespace {

// OLMo 2 at its own start, two blocks of it: behind a causal mask the mixes of the first block fall
// with the position, and what its norm makes of them beside its eps. The gradient of the keys'
// weights in the second block is no more than 15% off, the bar for real models, and three standard
// errors; an average of the keys' lengths makes it 2.9 times too large.
TEST_CASE("normed keys of tokens whose sizes differ by position") {
  const ModelSpec spec = parse_model(
      "[model]\nkind = \"transformer\"\nlayers = 2\nwidth = 256\nheads = 4\nkv_heads = 2\n"
      "ffn = 128\nvocab = 512\nsequence = 32\ncausal = true\nactivation = \"silu\"\ngated = true\n"
      "qk_norm = true\nqk_norm_all = true\nrotary_base = 10000\nnorm = \"rmsnorm\"\n"
      "norm_eps = 1e-5\nplacement = \"res-post\"\n[init]\nscheme = { std = 0.02 }\n"
      "[input]\nkind = \"tokens\"\nsecond = 0.0004\ncross = 0\nzipf = 1\n"
      "[loss]\nkind = \"cross-entropy\"\n",
      "olmo2");
  const Verification verification = agree("olmo2", spec, 96);
  int found = 0;
  for (const Comparison& c : verification.parameters) {
    const bool of_scores = c.path.find("attn.q.weight") != std::string::npos ||
                           c.path.find("attn.k.weight") != std::string::npos;
    if (!of_scores || c.quantity != "grad_second") continue;
    INFO(describe(c));
    CHECK(std::fabs(c.measured - c.predicted) < 0.15 * c.measured + 3 * c.standard_error);
    ++found;
  }
  CHECK(found == 4);
}

// Gradients at normed keys add up to what these differ by, of which overlaps by chance are most in
// deep blocks, and large weights in shallow ones: as if each key had its own, a bias had a sixth of
// its gradient in the 8th block, and half of it in the first.
TEST_CASE("biases of normed keys") {
  struct Case {
    int width, layers;
    double cross;
  };
  for (const Case& at : {Case{48, 2, 0}, Case{96, 2, 0.2}, Case{48, 6, 0.5}, Case{96, 8, 0.5}}) {
    const std::string name =
        std::to_string(at.width) + " features, cross " + std::to_string(at.cross);
    const ModelSpec spec =
        parse_model("[model]\nkind = \"transformer\"\nlayers = " + std::to_string(at.layers) +
                        "\nwidth = " + std::to_string(at.width) +
                        "\nheads = 6\nffn = 96\nvocab = 50\nsequence = 48\nactivation = \"silu\"\n"
                        "qk_norm = true\nbias = true\nnorm = \"layernorm\"\nplacement = \"pre\"\n"
                        "[input]\nkind = \"gaussian\"\ncross = " +
                        std::to_string(at.cross) + "\n",
                    name);
    const Verification verification = agree(name, spec, 96);
    int found = 0;
    for (const Comparison& c : verification.parameters) {
      if (!c.path.ends_with("attn.k.bias") || c.quantity != "grad_second") continue;
      CAPTURE(name);
      INFO(describe(c));
      CHECK(c.predicted > 0.6 * c.measured);
      ++found;
    }
    CHECK(found == at.layers);
  }
}

}  // namespace
}  // namespace scalecalc
