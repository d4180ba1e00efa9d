#include <string>
#include <vector>

#include "support.hpp"

/// The least forms of random models whose norms, activations, experts or dropout were off, one for
/// each rule (least_models_test.cpp has others).
namespace scalecalc {
namespace {

constexpr int seeds = 64;

void agree_with_text(const char* name, const std::string& fields) {
  agree(name,
        parse_model("[model]\nkind = \"transformer\"\nwidth = 48\nnorm_eps = 0\n" + fields, name),
        seeds);
}

const std::string lecun = "[init]\nscheme = \"lecun\"\n";
const std::string small =
    "layers = 1\nheads = 4\nffn = 48\nvocab = 10\nactivation = \"identity\"\n";

// Of the one token that a head reads the part of its gradient along its signal was forgotten: the
// gain's gradient was half of what passes have.
TEST_CASE("a gain right below the last token of a sequence") {
  for (const char* norm : {"rmsnorm", "layernorm"}) {
    const std::string fields =
        "layers = 1\nheads = 4\nkv_heads = 1\nffn = 48\nvocab = 54\nactivation = \"identity\"\n"
        "sequence = 2\nbatch = 2\npool = \"last\"\nplacement = \"pre\"\nnorm_affine = true\n"
        "norm = \"";
    agree_with_text(norm,
                    fields + norm + "\"\n" + lecun + "[loss]\nkind = \"mse\"\ntarget_second = 1\n");
  }
}

// Nothing of a gradient lies along queries that are normalised: alpha's was 20 times too large.
TEST_CASE("tanh in the place of a norm in front of normalised queries") {
  agree_with_text("cross-attention",
                  small +
                      "sequence = 2\nnorm = \"dyt\"\nplacement = \"pre\"\nkv_heads = 1\n"
                      "head_width = 4\nqk_norm = true\ncross_attention = true\n" +
                      lecun + "[memory]\nsequence = 4\nsecond = 1\n");
}

// What the rows of attention differ by in size was taken for rows that have nothing in common, and
// samples that are alike or opposite about their mean for independent ones: 30% too small.
TEST_CASE("an activation behind a norm over few samples that are nearly alike") {
  agree_with_text("decoder",
                  "layers = 1\nheads = 4\nffn = 96\nvocab = 10\nsequence = 2\nbatch = 2\n"
                  "activation = \"tanh\"\nnorm = \"batchnorm\"\nplacement = \"pre\"\n"
                  "encoder_decoder = true\n" +
                      lecun +
                      "[input]\nkind = \"gaussian\"\nsecond = 1\ncross = 0.99\n"
                      "[memory]\nsequence = 4\nsecond = 1\n");
}

// The sum of a tanh and a branch was taken for Gaussian by the next tanh: squares of hidden
// features were a third of what passes have.
TEST_CASE("tanh in the place of norms behind every sum") {
  const std::string fields =
      "layers = 2\nheads = 4\nffn = 96\nvocab = 10\nsequence = 16\nnorm_alpha = 1.5\n"
      "activation = \"relu_squared\"\nnorm = \"dyt\"\nplacement = \"post\"\n";
  agree_with_text("alike", fields + lecun);
  agree_with_text("with a class token",
                  fields + "class_tokens = 1\npool = \"class\"\n" + lecun +
                      "[input]\nkind = \"gaussian\"\nsecond = 1\ncross = 0.9\nclass_std = 1\n");
}

// Where features are the same at all samples passes divide by eps.
TEST_CASE("relu and a norm over few samples that are nearly alike") {
  const std::string text =
      "[model]\nkind = \"layers\"\nfeatures = 48\nclasses = 10\nsequence = 7\n" + lecun +
      "[input]\nkind = \"gaussian\"\nsecond = 1\ncross = 0.99\n"
      "[[layer]]\ntype = \"gated\"\nwidth = 16\nactivation = \"relu_squared\"\n"
      "[[layer]]\ntype = \"norm\"\nnorm = \"scalenorm\"\n"
      "[[layer]]\ntype = \"linear\"\nwidth = 32\n"
      "[[layer]]\ntype = \"activation\"\nactivation = \"relu\"\n"
      "[[layer]]\ntype = \"norm\"\nnorm = \"batchnorm\"\neps = 0.001\n";
  agree("list", parse_model(text, "list"), seeds);
}

/// Of four experts, of which each token has one, and no norm: whether these sites agree.
void agree_at(const std::vector<std::string>& paths) {
  const std::string text =
      "[model]\nkind = \"transformer\"\nlayers = 1\nwidth = 48\nheads = 1\nffn = 48\nvocab = 71\n"
      "sequence = 48\nactivation = \"identity\"\nnorm = \"none\"\nplacement = \"none\"\n"
      "experts = 4\ntop_k = 1\n" +
      lecun + "[loss]\nkind = \"mse\"\ntarget_second = 1\n";
  VerifyOptions options;
  options.seeds = 3 * seeds;
  options.threads = 2;
  const Verification made = verify_network(build_network(parse_model(text, "experts")), options);
  for (const std::string& path : paths) {
    int compared = 0;
    for (const Comparison& site : made.sites) {
      if (site.path != path) continue;
      CHECK_MESSAGE(site.ok, describe(site));
      ++compared;
    }
    CHECK(compared >= 3);
  }
}

// Tokens of one expert have more of a gradient along the signal in common, and each brings all of
// its own back: 14% too small in front of the experts, a third between tokens inside.
TEST_CASE("experts in front of a squared error of many logits") {
  agree_at({"block[0].attn", "block[0].ffn.expert[0].in", "block[0].ffn.expert[3].out"});
}

// Masks that each sample has of its own make E 1/s^2 of few samples larger: gradients were 0.6 of
// what passes have.
TEST_CASE("a norm over few samples of a stream with dropout") {
  agree_with_text("pre",
                  "layers = 2\nheads = 4\nkv_heads = 1\nffn = 48\nvocab = 10\nsequence = 16\n"
                  "activation = \"identity\"\nnorm = \"instancenorm\"\nplacement = \"pre\"\n"
                  "dropout = 0.3\ndropout_place = \"input+activation+stream\"\n" +
                      lecun);
}

/// Features of which E cos(y) is a mean, in front of layer norms; `fields` of the model besides.
void agree_with_cosines(const std::string& fields) {
  const std::string text =
      "[model]\nkind = \"mlp\"\nlayers = 2\nwidth = 48\nfeatures = 48\nclasses = 100\n"
      "sequence = 16\nactivation = \"cos\"\nnorm = \"layernorm\"\nnorm_eps = 0\n" +
      fields + lecun + "[input]\nkind = \"gaussian\"\nsecond = 0.25\n";
  agree("mlp", parse_model(text, "mlp"), seeds);
}

// Masks were taken to move overlaps as if features had no mean: gradients of two tokens' logits
// were 5 times too large.
TEST_CASE("dropout of features with a mean") {
  agree_with_cosines("placement = \"resi-dual\"\nlambda = \"(2*N)^(-1/2)\"\ndropout = 0.1\n");
}

// Along the stream skip and branch meet, in what gradients of two tokens follow of their overlap
// too: those at keys were 0.75 of what passes have.
TEST_CASE("a sum without norms in front of a squared error of many logits") {
  agree_at({"block[0].attn.k"});
}

// Of tokens that have nothing but their mean in common, sizes about the mean were taken to vary as
// those of whole features do: E 1/s^2 was 0.6 of what passes have.
TEST_CASE("a layernorm behind features with a mean") {
  agree_with_cosines("placement = \"pre\"\n");
}

void agree_of_perceptron(const char* name, const std::string& fields) {
  agree(name, parse_model("[model]\nkind = \"mlp\"\nnorm_eps = 0\n" + fields, name), seeds);
}

// Behind a norm the stream's size was taken to vary as that of new features: its mean had 0.88 of
// what passes have after eight sums. Products of two tokens went with the size of one by no more
// than that varies.
TEST_CASE("the mean of a stream with a norm behind each sum") {
  for (const char* placement : {"post", "resi-dual"})
    agree_of_perceptron(placement,
                        "layers = 8\nwidth = 33\nfeatures = 33\nclasses = 10\nsequence = 48\n"
                        "batch = 2\nactivation = \"elu\"\nnorm = \"rmsnorm\"\n"
                        "lambda = \"(2*N)^(-1/2)\"\nplacement = \"" +
                            std::string(placement) + "\"\n" + lecun);
}

// One feature's products follow the overlaps that all features have in common, where inputs have
// few features: the gain's gradient was 0.4 of what passes have.
TEST_CASE("a gain right below a head, of inputs with few features") {
  agree_of_perceptron("eight features",
                      "layers = 5\nwidth = 128\nfeatures = 8\nclasses = 2\nsequence = 16\n"
                      "batch = 2\nactivation = \"tanh\"\nnorm = \"layernorm\"\n"
                      "norm_affine = true\nplacement = \"skipinit\"\n" +
                          lecun + "[loss]\nkind = \"mse\"\nreduction = \"mean\"\n");
}

// The part of a gradient along the one token that a head reads was not shared between the two
// norms: gradients of the last branches were 4.6 times too large.
TEST_CASE("a head that reads one token of two streams") {
  const auto agree_with_head = [](const std::string& pool, const std::string& input) {
    agree_with_text(pool.c_str(),
                    "layers = 2\nheads = 4\nffn = 96\nvocab = 300\nsequence = 12\nbatch = 2\n"
                    "activation = \"relu\"\nnorm_affine = true\nnorm = \"layernorm\"\n"
                    "placement = \"resi-dual\"\n" +
                        pool + lecun + input + "[loss]\nkind = \"mse\"\n");
  };
  agree_with_head("pool = \"last\"\n", "");
  agree_with_head("pool = \"class\"\nclass_tokens = 1\n", "[input]\nclass_std = 1\n");
}

// Means over what has been normalised over the same samples are 0, in passes but for rounding: all
// gradients of a squared error of such outputs are their rounding, and a gain's is that of the
// terms of all sequences.
TEST_CASE("a mean over the samples of a norm") {
  agree_with_text("outputs",
                  "layers = 1\nheads = 4\nffn = 64\nvocab = 300\nsequence = 30\nbatch = 2\n"
                  "causal = true\nactivation = \"max(x - 1/2, 0)\"\ngated = true\n"
                  "qk_norm = true\nalibi = 0.25\nparallel = true\npool = \"mean\"\n"
                  "norm_affine = true\ngain_offset = true\nnorm = \"instancenorm\"\n"
                  "placement = \"fixup\"\n" +
                      lecun + "[loss]\nkind = \"mse\"\n");
  agree("gain",
        parse_model("[model]\nkind = \"layers\"\nfeatures = 24\nclasses = 10\nsequence = 36\n"
                    "batch = 4\nactivation = \"tanh(x)^2\"\nnorm_eps = 0\n" +
                        lecun +
                        "[[layer]]\ntype = \"norm\"\nnorm = \"layernorm\"\n"
                        "[[layer]]\ntype = \"conv2d\"\nchannels = 12\n"
                        "[[layer]]\ntype = \"activation\"\n"
                        "[[layer]]\ntype = \"norm\"\nnorm = \"instancenorm\"\naffine = true\n"
                        "[[layer]]\ntype = \"pool\"\n",
                    "gain"),
        seeds);
}

}  // namespace
}  // namespace scalecalc
