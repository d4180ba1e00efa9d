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

}  // namespace
}  // namespace scalecalc
