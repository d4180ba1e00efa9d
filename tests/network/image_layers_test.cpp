#include <cmath>

#include "describe.hpp"
#include "layer_lists.hpp"
#include "tolerance.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("an image is made smaller and larger inside a concatenation") {
  const std::string deeper =
      layer("type = \"concat\"") +
      "[[layer.layers]]\ntype = \"conv2d\"\nchannels = 12\nkernel = 3\nstride = 2\npadding = 1\n"
      "[[layer.layers]]\ntype = \"upsample\"\n"
      "[[layer.layers]]\ntype = \"max_pool\"\nkernel = 2\nstride = 2\n"
      "[[layer.layers]]\ntype = \"conv_transpose2d\"\nchannels = 5\nkernel = 3\nstride = 2\n"
      "padding = 1\noutput_padding = 1\n";
  const Network network = built(deeper + head, "sequence = 36\n");
  CHECK(description(network) ==
        "concat( concat[0]\nconv concat[0].conv2d[0]\nupsample concat[0].upsample[0]\n"
        "max_pool concat[0].max_pool[0]\nconv concat[0].conv_transpose2d[0]\n)\nlinear head\n");
  CHECK(parameter_paths(network) ==
        "concat[0].conv2d[0].weight\nconcat[0].conv_transpose2d[0].weight\nhead.weight\n");
  const auto& joined = std::get<Concat>(network.layers[0].op);
  CHECK(joined.stream == 8);
  CHECK(joined.branch == 5);
  CHECK(std::get<Linear>(network.layers[1].op).fan_in == 13);
  const ModelSpec spec = read(deeper + head, "sequence = 36\n");
  CHECK(model_text(parse_model(model_text(spec), "again")) == model_text(spec));
}

// LeCun's variance is one over what an output reads: 2 x 2 taps of 12 channels, a quarter of 4 x 4.
TEST_CASE("a transposed convolution has a fan-in of the taps that an output has") {
  const auto std_of = [](const std::string& keys) {
    const Network network =
        built(layer("type = \"linear\"\nwidth = 12") +
                  layer("type = \"conv_transpose2d\"\nchannels = 5\nkernel = 4\nstride = 2\n"
                        "padding = 1\n" +
                        keys) +
                  head,
              "sequence = 36\n");
    return std::get<Conv2d>(network.layers[1].op).weight.std;
  };
  CHECK(std_of("") == rounded(1 / std::sqrt(48.0), 8));
  CHECK(std_of("groups = 1\nstd = 0.25\n") == rounded(0.25, 4));
}

TEST_CASE("what makes no image is refused") {
  const auto of = [](const std::string& keys, const std::string& more = "sequence = 36\n") {
    return error_of(layer(keys) + head, more);
  };
  contains(of("type = \"upsample\"\nfactor = 0"), "factor must be from 1 to 64, got 0");
  contains(of("type = \"upsample\"", ""), "its input is no image");
  contains(of("type = \"upsample\"\nfactor = 64", "sequence = 1000000\n"),
           "an image may have at most 1000000 pixels");
  const std::string larger = "type = \"conv_transpose2d\"\n";
  contains(of(larger), "channels is missing");
  contains(of(larger + "channels = 4\noutput_padding = 1"),
           "an output_padding of 1 is not less than the stride of 1");
  contains(of(larger + "channels = 4\npadding = 3"), "nothing is left of 8 features at 6 x 6");
  contains(of(larger + "channels = 4\nstride = 1000000"),
           "an image may have at most 1000000 pixels");
  contains(of(larger + "channels = 4\ngroups = 3"), "groups must divide the channels");
  contains(of("type = \"concat\""), "it has no layers of its own");
  contains(error_of(layer("type = \"concat\"") + "[[layer.layers]]\ntype = \"pool\"\n" + head),
           "its layers give 8 features at 1 tokens, and begin with 8 features at 24 tokens");
}
