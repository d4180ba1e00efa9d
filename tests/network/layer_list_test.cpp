#include <doctest/doctest.h>

#include <cmath>

#include "describe.hpp"
#include "layer_lists.hpp"
#include "scalecalc/network.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

std::string nested(int depth) {
  std::string text, heading = "layer";
  for (int i = 0; i < depth; ++i, heading += ".layers")
    text += "[[" + heading + "]]\ntype = \"repeat\"\n";
  return text + "[[" + heading + "]]\ntype = \"activation\"\n" + head;
}

}  // namespace

TEST_CASE("paths are the names, else the type and its index") {
  CHECK(
      description(built(layer("type = \"linear\"\nwidth = 4") +
                        layer("type = \"activation\"\nactivation = \"relu\"") +
                        layer("type = \"linear\"\nwidth = 4\nname = \"middle\"") +
                        layer("type = \"linear\"\nwidth = 6") + layer("type = \"pool\"") + head)) ==
      "linear linear[0]\nact activation[0]\nlinear middle\nlinear linear[2]\npool pool[0]\n"
      "linear head\n");
}

TEST_CASE("repeats are indexed, nested ones too, and N is the depth") {
  const std::string twice =
      "[[layer]]\ntype = \"repeat\"\nname = \"outer\"\ntimes = \"N\"\n"
      "[[layer.layers]]\ntype = \"repeat\"\ntimes = 2\n"
      "[[layer.layers.layers]]\ntype = \"activation\"\n" +
      head;
  CHECK(description(built(twice, "layers = 2\n")) ==
        "act outer[0].repeat[0][0].activation[0]\nact outer[0].repeat[0][1].activation[0]\n"
        "act outer[1].repeat[0][0].activation[0]\nact outer[1].repeat[0][1].activation[0]\n"
        "linear head\n");
  ModelSpec spec = read(twice);
  spec.layers = 5;
  CHECK(build_network(spec).layers.size() == 11);
}

TEST_CASE("sizes are inferred along the way") {
  const Network network = built(
      layer("type = \"conv2d\"\nchannels = 12\nkernel = 3\nstride = 2\npadding = 1\ngroups = 4") +
          layer("type = \"norm\"\nnorm = \"layernorm\"") +
          layer("type = \"attention\"\nheads = 3\nkv_heads = 1") +
          layer("type = \"gated\"\nwidth = 5\nactivation = \"silu\"") + layer("type = \"pool\"") +
          head,
      "sequence = 36\nheight = 4\n");
  const auto& conv = std::get<Conv2d>(network.layers[0].op);
  CHECK(conv.in_channels == 8);
  CHECK(conv.height == 4);
  CHECK(conv.width == 9);
  CHECK(conv.out_height() == 2);
  CHECK(conv.out_width() == 5);
  CHECK(conv.weight.fan_in == 9 * 8 / 4);
  CHECK(conv.weight.fan_out == 12);
  CHECK(std::get<Norm>(network.layers[1].op).width == 12);
  const auto& attention = std::get<Attention>(network.layers[2].op);
  CHECK(attention.head_width == 4);
  CHECK(attention.k.fan_out == 4);
  CHECK(attention.scale == rounded(0.5, 8));
  CHECK(std::get<Gated>(network.layers[3].op).gate.fan_in == 12);
  CHECK(std::get<Linear>(network.layers[5].op).fan_in == 5);
  CHECK(network.classes == 10);
  CHECK(parameter_paths(network).find("gated[0].gate.weight\ngated[0].in.weight\n") !=
        std::string::npos);
}

TEST_CASE("heads of a list's attention may have a width of their own") {
  const Network network = built(
      layer("type = \"attention\"\nheads = 3\nkv_heads = 1\nhead_width = 5\nnorm = \"rmsnorm\"") +
      head);
  const auto& attention = std::get<Attention>(network.layers[0].op);
  CHECK(attention.head_width == 5);
  CHECK(attention.q.fan_out == 15);
  CHECK(attention.k.fan_out == 5);
  CHECK(attention.norm->width == 15);
  CHECK(attention.o.fan_in == 15);
  CHECK(attention.o.fan_out == 8);
}

// True fan-out k^2 C_out/(groups stride^2): 9 * 12/(4 * 4) = 6.75, fan-in 18.
TEST_CASE("a convolution along a sequence takes its tokens as one row") {
  const Network network =
      built(layer("type = \"conv1d\"\nchannels = 12\nkernel = 3\nstride = 2\npadding = 1\n"
                  "groups = 4") +
                layer("type = \"pool\"") + head,
            "sequence = 36\n[init]\nscheme = \"xavier\"\n");
  const auto& conv = std::get<Conv2d>(network.layers[0].op);
  CHECK(conv.path == "conv1d[0]");
  CHECK(conv.one_row);
  CHECK(conv.height == 1);
  CHECK(conv.width == 36);
  CHECK(conv.out_height() == 1);
  CHECK(conv.out_width() == 18);
  CHECK(conv.weight.fan_in == 3 * 8 / 4);
  CHECK(conv.weight.std == rounded(std::sqrt(2.0 / (6 + 4.5)), 64));
  // A square number of tokens is an image, and stays one in a branch.
  const std::string branch =
      "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\ntype = \"conv1d\"\nchannels = 8\n";
  CHECK(built(branch + head, "sequence = 36\n").layers.size() == 2);
  contains(
      error_of(layer("type = \"conv1d\"\nchannels = 4\nkernel = 27") + head, "sequence = 24\n"),
      "[conv1d] conv1d[0]: the kernel of 27 is longer than 24 tokens with padding 0 | use "
      "padding = 13");
  contains(error_of(layer("type = \"conv1d\"\nchannels = 4\ngroups = 3") + head),
           "groups must divide the channels (groups 3, channels 8 to 4)");
  contains(error_of(layer("type = \"conv1d\"") + head), "channels is missing");
}

TEST_CASE("a convolution's fans count the kernel, the groups and the stride") {
  const auto std_of = [](const std::string& scheme) {
    const Network network =
        built(layer("type = \"conv2d\"\nchannels = 12\nkernel = 3\nstride = 2\npadding = 1\n"
                    "groups = 4") +
                  head,
              "sequence = 36\n[init]\nscheme = \"" + scheme + "\"\n");
    return std::get<Conv2d>(network.layers[0].op).weight.std;
  };
  CHECK(std_of("he") == rounded(std::sqrt(2.0 / 18), 64));
  CHECK(std_of("xavier") == rounded(std::sqrt(2.0 / (18 + 6.75)), 64));
}

TEST_CASE("residuals have their own layers, a shortcut, a norm and scalars") {
  const std::string block =
      "[[layer]]\ntype = \"residual\"\nname = \"res\"\nskip = \"alpha\"\nbranch = \"1/alpha\"\n"
      "norm = \"rmsnorm\"\ntrainable = true\n"
      "[[layer.layers]]\ntype = \"linear\"\nwidth = 4\n"
      "[[layer.shortcut]]\ntype = \"linear\"\nwidth = 4\n" +
      head;
  const Network network = built(block, "alpha = 4\nlambda = 0.5\n");
  CHECK(description(network) ==
        "( res\nlinear res.linear[0]\n)\nshortcut\nlinear res.shortcut.linear[0]\nnorm res.norm\n"
        "linear head\n");
  const auto& residual = std::get<Residual>(network.layers[0].op);
  CHECK(residual.skip == 4);
  CHECK(residual.branch == 0.25);
  CHECK(residual.skip_formula.value() == parse("alpha"));
  CHECK(parameter_paths(network) ==
        "res.linear[0].weight\nres.scale\nres.shortcut.linear[0].weight\nhead.weight\n");
  const auto& inside = std::get<Linear>(residual.body[0].op);
  const auto& around = std::get<Linear>(residual.shortcut[0].op);
  CHECK(inside.in_branch);
  CHECK(inside.gain == 0.5);
  CHECK_FALSE(around.in_branch);
  CHECK(around.gain == 1);
}

TEST_CASE("the factors of a trainable branch are one for all features, or one for each") {
  const auto block = [](const std::string& keys) {
    return "[[layer]]\ntype = \"residual\"\n" + keys +
           "[[layer.layers]]\ntype = \"linear\"\nwidth = 8\n" + head;
  };
  const Network network = built(block("branch = 1e-6\ntrainable = true\nfactors = 8\n"));
  const auto& residual = std::get<Residual>(network.layers[0].op);
  CHECK(residual.trainable_branch);
  CHECK(residual.branch == 1e-6);
  CHECK(residual.scale_features == 8);
  CHECK(parameters(network)[1].path == "residual[0].scale");
  CHECK(parameters(network)[1].columns == 8);
  CHECK(parameters(network)[1].constant == 1e-6);
  const Network one = built(block("trainable = true\nfactors = 1\n"));
  CHECK(std::get<Residual>(one.layers[0].op).scale_features == 1);
  contains(error_of(block("factors = 8\n")), "factors are of a trainable branch");
  contains(error_of(block("trainable = true\nfactors = 7\n")),
           "it has 7 factors, and 8 features | use factors = 8");
}

TEST_CASE("without residuals the stack is one branch, as in a plain mlp") {
  const Network network = built(layer("type = \"linear\"\nwidth = 4") + head, "lambda = 0.5\n");
  CHECK(std::get<Linear>(network.layers[0].op).in_branch);
  CHECK(std::get<Linear>(network.layers[0].op).gain == 0.5);
  CHECK_FALSE(std::get<Linear>(network.layers[1].op).in_branch);
  CHECK(std::get<Linear>(network.layers[1].op).role == "head");
}

TEST_CASE("a layer's own keys go before the model's") {
  const Network network =
      built(layer("type = \"linear\"\nwidth = 4\nstd = 0.5\ngain = \"2*N\"\nbias = false\n"
                  "distribution = \"uniform\"\nweight_norm = \"spectral\"") +
                layer("type = \"norm\"\nnorm = \"batchnorm\"\neps = 0.25\naffine = true") +
                layer("type = \"linear\"\nwidth = 4") + head,
            "layers = 3\nbias = true\nbatch = 2\n[init]\ndistribution = \"orthogonal\"\n");
  const auto& own = std::get<Linear>(network.layers[0].op);
  CHECK(own.std == 3);
  CHECK_FALSE(own.bias);
  CHECK(own.distribution == Distribution::uniform);
  CHECK(own.weight_norm == WeightNorm::spectral);
  CHECK(own.variance_formula.value() == parse("N^2"));
  const auto& norm = std::get<Norm>(network.layers[1].op);
  CHECK(norm.kind == NormKind::batchnorm);
  CHECK(norm.eps == 0.25);
  CHECK(norm.affine);
  CHECK(std::get<Linear>(network.layers[2].op).bias);
  CHECK(std::get<Linear>(network.layers[2].op).distribution == Distribution::orthogonal);
  CHECK_FALSE(std::get<Linear>(network.layers[3].op).bias);
}

TEST_CASE("classes add the head, tokens an embedding in front") {
  const Network network =
      built(layer("type = \"embedding\"\nvocab = 30\nwidth = 6") + layer("type = \"activation\""),
            "classes = 7\n[input]\nkind = \"tokens\"\nsecond = 4\npositions = 0.25\n");
  CHECK(description(network) == "embedding embedding[0]\nact activation[0]\nlinear head\n");
  const auto& embedding = std::get<Embedding>(network.layers[0].op);
  CHECK(embedding.vocab == 30);
  CHECK(embedding.std == 2);
  CHECK(embedding.position_std == 0.5);
  CHECK(network.classes == 7);
  contains(error_of(layer("type = \"activation\"") + head, "[input]\nkind = \"tokens\"\n"),
           "tokens need an embedding as the first layer");
  contains(error_of(layer("type = \"embedding\"\nvocab = 30\nwidth = 6") + head),
           "an embedding can only be the first layer, of tokens");
}

TEST_CASE("shapes that do not fit are said where they are") {
  const std::string residual =
      "[[layer]]\ntype = \"residual\"\n[[layer.layers]]\ntype = \"linear\"\nwidth = 4\n" + head;
  contains(error_of(residual),
           "m.toml:4:1 | [residual] residual[0]: the branch gives 4 features at 24 tokens, the "
           "skip 8 features at 24 tokens");
  contains(error_of(layer("type = \"conv2d\"\nchannels = 4") + head),
           "m.toml:4:1 | [conv2d] conv2d[0]: its input is no image: 8 features at 24 tokens");
  contains(error_of(layer("type = \"conv2d\"\nchannels = 4\nkernel = 7") + head, "sequence = 36\n"),
           "the kernel of 7 is larger than the image of 8 features at 6 x 6 with padding 0 | use "
           "padding = 3");
  contains(error_of(layer("type = \"conv2d\"\nchannels = 4\ngroups = 3") + head, "sequence = 36\n"),
           "groups must divide the channels (groups 3, channels 8 to 4)");
  const auto pool = [](const std::string& keys) { return layer("type = \"max_pool\"\n" + keys); };
  contains(error_of(pool("kernel = 2") + head),
           "m.toml:4:1 | [max_pool] max_pool[0]: its input is no image: 8 features at 24 tokens");
  contains(error_of(pool("stride = 2") + head, "sequence = 36\n"), "kernel is missing");
  contains(error_of(pool("kernel = 7") + head, "sequence = 36\n"),
           "the kernel of 7 is larger than the image of 8 features at 6 x 6 with padding 0");
  contains(error_of(pool("kernel = 3\npadding = 2") + head, "sequence = 36\n"),
           "the padding of 2 is more than half of the kernel of 3 | use padding = 1");
  contains(error_of(layer("type = \"attention\"\nheads = 3") + head),
           "[attention] heads must divide width (heads 3, width 8) at attention[0]");
  contains(error_of(layer("type = \"attention\"\nheads = 4\nkv_heads = 3") + head),
           "kv_heads must divide heads (kv_heads 3, heads 4)");
  contains(error_of(head, "height = 5\n"), "m.toml:4:1 | height must divide the pixels");
  contains(
      error_of(layer("type = \"pool\"") + layer("type = \"norm\"\nnorm = \"instancenorm\"") + head),
      "instancenorm of a single number is always 0");
  contains(error_of(layer("type = \"attention\"\nmemory = true") +
                    layer("type = \"linear\"\nwidth = 4") +
                    layer("type = \"attention\"\nmemory = true") + head),
           "the memory cannot have 4 features here and 8 before");
}

TEST_CASE("residual attention adds scores of as many heads and tokens") {
  const std::string two = layer("type = \"attention\"\nheads = 2\nresidual_attention = true");
  const Network network = built(two + layer("type = \"attention\"") + two + head);
  CHECK(std::get<Attention>(network.layers[0].op).residual_attention);
  CHECK_FALSE(std::get<Attention>(network.layers[1].op).residual_attention);
  const std::string four = layer("type = \"attention\"\nheads = 4\nresidual_attention = true");
  contains(error_of(two + four + head),
           "residual_attention adds the scores of attention[0], which are of 2 heads, 24 tokens, "
           "and these are of 4 heads, 24 tokens");
  contains(error_of(two + four + head), "make heads, causal and the number of tokens equal");
  contains(error_of(two + layer("type = \"pool\"") + two + head), "of 2 heads, 1 tokens");
  contains(error_of(two + two + "causal = true\n" + head), "2 heads, 24 tokens, causal");
  contains(error_of(layer("type = \"attention\"\nmemory = true\nresidual_attention = true") + head),
           "residual_attention adds scores between tokens, not of a memory");
}

TEST_CASE("rotary positions of a list's attention") {
  const std::string turned = "type = \"attention\"\nheads = 2\nrotary_base = 100\n";
  const Network network = built(layer(turned + "rotary_fraction = 0.5") + head);
  CHECK(std::get<Attention>(network.layers[0].op).rotary.base == 100);
  const std::int64_t width = std::get<Attention>(network.layers[0].op).head_width;
  CHECK(std::get<Attention>(network.layers[0].op).rotary.width == width / 4 * 2);
  contains(error_of(layer(turned + "memory = true") + head),
           "rotary positions are between tokens, not those of a memory");
  contains(error_of(layer(turned + "rotary_fraction = 1.5") + head),
           "rotary_fraction must be above 0 and at most 1, got 1.5");
  contains(error_of(layer("type = \"attention\"\nrotary_base = -5") + head),
           "rotary_base must be finite and above 1, got -5");
  contains(error_of(layer("type = \"attention\"\nrotary_fraction = 0.5") + head),
           "rotary_fraction is of rotary positions, and there are none");
  const std::string slowed = "rotary_scaling = \"llama3\"\nrotary_factor = 8\n";
  const Network slow = built(layer(turned + slowed + "rotary_original = 8") + head);
  const Rotary& rotary = std::get<Attention>(slow.layers[0].op).rotary;
  CHECK(rotary.theta.size() == static_cast<std::size_t>(rotary.width / 2));
  CHECK(rotary.theta.back() < rotary_frequencies({rotary.width, 100.0}).back());
  contains(error_of(layer(turned + slowed) + head),
           "rotary_scaling llama3 asks for rotary_original, the tokens of the first training");
  contains(error_of(layer(turned + "rotary_scaling = \"llama\"") + head), "did you mean 'llama3'?");
}

TEST_CASE("ALiBi of a list's attention") {
  const std::string biased = "type = \"attention\"\nheads = 2\nalibi = 0.5\n";
  const Network network = built(layer(biased + "causal = true") + head);
  CHECK(std::get<Attention>(network.layers[0].op).alibi == 0.5);
  contains(error_of(layer(biased) + head), "alibi counts tokens back from a query");
  contains(error_of(layer(biased + "causal = true\nrotary_base = 100") + head),
           "two ways of saying where tokens stand");
  contains(error_of(layer(biased + "causal = true\nmemory = true") + head), "alibi");
}

TEST_CASE("a window of a list's attention") {
  const std::string near = "type = \"attention\"\nheads = 2\nwindow = 3\n";
  const Network network = built(layer(near + "causal = true") + head);
  CHECK(std::get<Attention>(network.layers[0].op).window == 3);
  contains(error_of(layer(near) + head), "window is of the tokens before a query");
  contains(error_of(layer("type = \"attention\"\ncausal = true\nwindow = -1") + head), "window");
}

TEST_CASE("an encoder makes the memory of its own input") {
  const std::string encoder =
      "[[layer]]\ntype = \"encoder\"\n[[layer.layers]]\ntype = \"linear\"\nwidth = 6\n";
  const std::string narrow = "[[layer]]\ntype = \"linear\"\nwidth = 6\n";
  const std::string cross = "[[layer]]\ntype = \"attention\"\nmemory = true\n";
  const std::string memory = "[memory]\nsequence = 7\n";
  const Network network = built(encoder + narrow + cross + head + memory);
  CHECK(description(network) ==
        "encoder( encoder[0]\nlinear encoder[0].linear[0]\n)\nlinear linear[0]\n"
        "linear attention[0].q\nlinear attention[0].k\nlinear attention[0].v\nmix attention[0]\n"
        "linear attention[0].o\nlinear head\n");
  CHECK(network.memory_sequence == 7);
  CHECK(std::get<Linear>(std::get<Encoder>(network.layers[0].op).layers[0].op).fan_in == 8);
  CHECK(model_text(read(encoder + narrow + cross + head)).find("type = \"encoder\"") !=
        std::string::npos);
  contains(error_of(encoder + narrow + head), "[encoder] encoder[0]: nothing attends to it");
  contains(error_of(cross + encoder + head), "encoder[0]: a layer before it attends to the memory");
  contains(error_of(encoder + encoder + narrow + cross + head),
           "encoder[1]: there is one already, encoder[0]");
  contains(error_of(encoder + cross + head), "the memory cannot have 8 features here and 6 before");
  contains(error_of("[[layer]]\ntype = \"encoder\"\n" + cross + head),
           "[encoder] encoder[0]: it has no layers of its own");
  contains(error_of("[[layer]]\ntype = \"repeat\"\n[[layer.layers]]\ntype = \"encoder\"\n"
                    "[[layer.layers.layers]]\ntype = \"activation\"\n" +
                    cross + head),
           "repeat[0][0].encoder[0]: it stands inside another layer");
  contains(error_of("[[layer]]\ntype = \"encoder\"\n[[layer.layers]]\ntype = \"attention\"\n"
                    "memory = true\n" +
                    cross + head),
           "encoder[0]: a layer inside it attends to the memory it makes");
  const std::string tokens = "[input]\nkind = \"tokens\"\n";
  const std::string words = "[[layer]]\ntype = \"embedding\"\nvocab = 30\nwidth = 6\n";
  contains(error_of(words + encoder + cross + head + tokens),
           "[encoder] encoder[0]: tokens need an embedding as its first layer");
  const std::string reading =
      "[[layer]]\ntype = \"encoder\"\n[[layer.layers]]\ntype = \"embedding\"\nvocab = 20\n"
      "width = 6\n";
  const Network of_words =
      built(words + reading + cross + head + memory + tokens + "positions = 1\n");
  const auto& inner = std::get<Encoder>(of_words.layers[1].op).layers[0].op;
  CHECK(std::get<Embedding>(inner).positions == 7);
  CHECK(std::get<Embedding>(of_words.layers[0].op).positions == 24);
}

TEST_CASE("what a layer lacks or cannot have") {
  contains(error_of(layer("width = 4")), "m.toml:4:1 | a layer without its type");
  contains(error_of(layer("type = \"linnear\"")), "m.toml:5:1 | unknown layer type 'linnear'");
  contains(error_of(layer("type = \"linear\"\nwidht = 3")), "m.toml:6:1 | unknown key 'widht'");
  contains(error_of(layer("type = \"linear\"\nheads = 3")),
           "m.toml:6:1 | key 'heads' does not belong to type = \"linear\"");
  contains(error_of(layer("type = \"linear\"") + head), "[linear] linear[0]: width is missing");
  contains(error_of(layer("type = \"conv2d\"") + head), "channels is missing");
  contains(error_of(layer("type = \"norm\"") + head), "norm is missing");
  contains(error_of(layer("type = \"residual\"") + head), "it has no layers of its own");
  contains(error_of(layer("type = \"repeat\"\nlayers = 3")),
           "m.toml:6:1 | layers must be a list of tables, got an integer");
  contains(error_of(layer("type = \"dropout\"\nrate = 1") + head), "a dropout rate must be");
  contains(error_of(layer("type = \"linear\"\nwidth = 4\nstd = -1") + head),
           "std must be finite and not negative, got -1");
  contains(error_of(layer("type = \"linear\"\nwidth = 4\nstd = nan") + head),
           "m.toml:7:1 | std must be a finite number");
  contains(error_of(layer("type = \"linear\"\nwidth = 1000001") + head),
           "width must be from 0 to 1000000, got 1000001");
  contains(error_of(layer("type = \"linear\"\nwidth = 4\ngain = \"0 - N\"") + head),
           "gain must be finite and not negative");
  contains(error_of(layer("type = \"activation\"\nactivation = \"rellu\"") + head),
           "m.toml:4:1 | [activation] activation[0]: unknown activation 'rellu'");
  contains(error_of(layer("type = \"activation\"")), "the last layer must be the head, a linear");
  contains(error_of(""), "kind = \"layers\" without a [[layer]]");
  contains(error_of("[layer]\ntype = \"linear\""), "layer must be a list of tables, got a table");
  for (const char* name : {"a.b", "1a", "q", "linear", "a\\nb"})
    contains(error_of(layer("type = \"activation\"\nname = \"" + std::string(name) + "\"") + head),
             "m.toml:4:1 | [activation] ");
  const std::string same = layer("type = \"activation\"\nname = \"a\"");
  contains(error_of(same + same + head), "two layers of one list have this name");
  CHECK_THROWS_AS(parse_model("[model]\n[[layer]]\ntype = \"pool\"", "m"), Error);
}

TEST_CASE("depth and size are bounded before anything is laid out") {
  CHECK_NOTHROW(read(nested(31)));
  contains(error_of(nested(32)), "layers nest at most 32 deep");
  contains(error_of(nested(200)), "layers nest at most 32 deep");
  const auto repeated = [](const std::string& times, const std::string& inner) {
    return "[[layer]]\ntype = \"repeat\"\ntimes = " + times +
           "\n[[layer.layers]]\ntype = \"repeat\"\ntimes = 1000000\n[[layer.layers.layers]]\n" +
           inner + head;
  };
  contains(error_of(repeated("1000", "type = \"activation\"\n")),
           "a network of 1000000000 laid-out layers is too large: the limit is 3000000");
  contains(error_of(repeated("1000000", "type = \"linear\"\nwidth = 8\n")),
           "laid-out layers is too large: the limit is 3000000");
  contains(error_of(repeated("1000000000", "type = \"activation\"\n")),
           "times must be an integer from 0 to 1000000, got 1000000000");
  contains(error_of(repeated("0.5", "type = \"activation\"\n")), "times must be an integer");
  // Every step changes the shape, and none is stored.
  const std::string growing =
      "[[layer]]\ntype = \"repeat\"\ntimes = 1000000\n[[layer.layers]]\ntype = \"conv2d\"\n"
      "channels = 8\npadding = 1\n" +
      head;
  contains(error_of(growing, "sequence = 36\n"), "an image may have at most 1000000 pixels");
  CHECK(built("[[layer]]\ntype = \"repeat\"\ntimes = 0\n[[layer.layers]]\ntype = \"pool\"\n" + head)
            .layers.size() == 1);
}
