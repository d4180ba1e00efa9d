#include "passes/check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "networks.hpp"
#include "passes/support.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::passes {
namespace {

NetworkOptions small() {
  NetworkOptions options;
  options.bias = options.affine = true;
  return options;
}

Residual& residual_at(Network& network, std::size_t layer) {
  return std::get<Residual>(network.layers[layer].op);
}
Attention& first_attention(Network& network) {
  return std::get<Attention>(residual_at(network, 1).body[0].op);
}
Linear& head(Network& network) {
  return std::get<Linear>(network.layers.back().op);
}

/// The message of the error that a broken network gives, from the public interface.
std::string message(const std::function<void(Network&)>& breaking, NetworkOptions options) {
  Network network = HandBuilt(options).transformer();
  breaking(network);
  try {
    const Passes<float> passes(network, {});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK_FALSE(error.hint().empty());
    return error.what();
  }
  return "accepted";
}
bool names(const std::function<void(Network&)>& breaking, const std::string& where,
           NetworkOptions options = small()) {
  const std::string text = message(breaking, options);
  CAPTURE(text);
  const bool found = text.find(where) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("a network that fits is counted") {
  Network network = HandBuilt(small()).transformer();
  const Footprint footprint = check(network).footprint;
  CHECK(footprint.parameters == static_cast<double>(parameter_count(network)));
  CHECK(footprint.activations > 0.0);
}

TEST_CASE("sizes that do not fit are named") {
  names([](Network& n) { n.sequence = 0; }, "sequence is 0");
  names([](Network& n) { n.batch = -1; }, "batch is -1");
  names([](Network& n) { n.classes = std::int64_t{1} << 40; }, "classes");
  names([](Network& n) { n.classes = 4; }, "head");
  names([](Network& n) { n.features = 7; }, "input.norm");
  names([](Network& n) { n.layers.clear(); }, "no head");
  names([](Network& n) { n.layers.pop_back(); }, "no head");
  names([](Network& n) { head(n).fan_in = 5; }, "head");
  names([](Network& n) { first_attention(n).q.fan_out = 5; }, "block[0].attn.q");
  names([](Network& n) { first_attention(n).k.fan_in = 5; }, "block[0].attn.k");
  names([](Network& n) { first_attention(n).heads = 0; }, "block[0].attn");
  names([](Network& n) { first_attention(n).heads = 4; }, "block[0].attn.q");
  names([](Network& n) { residual_at(n, 2).norm->width = 3; }, "block[0].ffn.norm");
  names([](Network& n) { residual_at(n, 2).body.pop_back(); }, "block[0].ffn");
  names([](Network& n) { head(n).fan_out = 0; }, "head");
}

TEST_CASE("numbers that cannot be used are named") {
  names([](Network& n) { n.input_second = NAN; }, "input_second");
  names([](Network& n) { n.input_cross = -0.1; }, "input_cross");
  names([](Network& n) { n.input_cross = 1.5; }, "input_cross");
  names([](Network& n) { head(n).std = INFINITY; }, "head");
  names([](Network& n) { head(n).std = -1.0; }, "head");
  names([](Network& n) { first_attention(n).q.bias_std = NAN; }, "block[0].attn.q");
  names([](Network& n) { first_attention(n).scale = NAN; }, "block[0].attn");
  names([](Network& n) { residual_at(n, 1).skip = INFINITY; }, "block[0].attn");
  names([](Network& n) { residual_at(n, 1).branch = NAN; }, "block[0].attn");
  names([](Network& n) { residual_at(n, 1).norm->eps = -1e-5; }, "block[0].attn.norm");
  names(
      [](Network& n) { std::get<ActivationLayer>(residual_at(n, 2).body[1].op).function = "1/x"; },
      "block[0].ffn.act");
}

TEST_CASE("token input needs an embedding, first and once") {
  NetworkOptions tokens = small();
  tokens.tokens = true;
  CHECK(message([](Network&) {}, tokens) == "accepted");
  names([](Network& n) { n.layers.erase(n.layers.begin()); }, "embedding", tokens);
  names([](Network& n) { n.layers.insert(n.layers.begin(), n.layers.front()); }, "embedding",
        tokens);
  names([](Network& n) { std::get<Embedding>(n.layers.front().op).vocab = 0; }, "embedding",
        tokens);
  names([](Network& n) { n.input = InputKind::gaussian; }, "embedding", tokens);
}

TEST_CASE("a network larger than the machine is refused before anything is allocated") {
  NetworkOptions huge;
  huge.width = 6000000;
  huge.ffn = 4;
  names([](Network&) {}, "GiB", huge);
}

TEST_CASE("memory that is too small is named with its owner and with what would fit") {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  // 16 layers of half a GiB of weights and half a GiB of activations each, in floats.
  const Footprint footprint{2.0 * kGiB, 2.0 * kGiB, 16};
  const auto refusal = [&footprint](double limit, bool recompute) {
    try {
      check_memory(footprint, sizeof(float), recompute, limit, "cuda:1");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(16.0 * kGiB, false).empty());
  const std::string half = refusal(8.0 * kGiB, false);
  CHECK(half.find("need 16 GiB and cuda:1 has 8 GiB") != std::string::npos);
  CHECK(half.find("about 8 of its 16 outermost layers fit") != std::string::npos);
  CHECK(half.find("--recompute") == std::string::npos);
  // Recomputed: 8 GiB of weights, and 8 (4/16 + 1/4) of activations.
  CHECK(refusal(12.0 * kGiB, false).find("--recompute would do") != std::string::npos);
  CHECK(refusal(12.0 * kGiB, true).empty());
}

TEST_CASE("the newer layers: what does not fit together is named") {
  const auto refuses = [](std::vector<Layer> layers, const std::string& where) {
    try {
      check(network_of(std::move(layers), 6));
    } catch (const Error& error) {
      CAPTURE(error.what());
      CHECK(error.kind() == ErrorKind::input);
      CHECK(std::string(error.what()).find(where) != std::string::npos);
      return;
    }
    FAIL("accepted: " << where);
  };
  refuses({{Dropout{"dropout", 1.0}}}, "dropout rate is 1");
  refuses({{Dropout{"dropout", NAN}}}, "dropout");
  refuses({{Gated{"act", "silu", dense("gate", 6, 9), dense("in", 6, 8)}}}, "gate");
  refuses({{Gated{"act", "sillu", dense("gate", 6, 6), dense("in", 6, 6)}}}, "silu");
  Attention grouped = attention("attn", 6, 3, 2);
  refuses({{grouped}}, "heads 3 is not a multiple of kv_heads 2");
  Attention cross = attention("cross", 6, 2, 1);
  cross.over_memory = true;
  refuses({{cross}}, "memory_sequence is 0");
  Residual narrowing = residual("block", {{dense("block.in", 6, 3)}});
  refuses({{narrowing}, {dense("back", 3, 6)}}, "block");
  narrowing.shortcut = {{dense("block.shortcut", 6, 4)}};
  refuses({{narrowing}, {dense("back", 3, 6)}}, "block");
  refuses({{residual("block", {{Pool{"pool"}}})}}, "1 tokens");
}

TEST_CASE("convolutions: what does not fit together is named") {
  const auto refuses = [](const std::function<void(Conv2d&)>& breaking, const std::string& where) {
    Conv2d layer = conv("conv", 4, 4, 3, 2, 5);
    layer.padding = 1;
    breaking(layer);
    try {
      check(network_of({{layer}}, 4, 10));
    } catch (const Error& error) {
      CAPTURE(error.what());
      CHECK(std::string(error.what()).find(where) != std::string::npos);
      return;
    }
    CHECK(where == "accepted");
  };
  refuses([](Conv2d&) {}, "accepted");
  refuses([](Conv2d& c) { c.groups = 3; }, "groups 3");
  refuses([](Conv2d& c) { c.stride = 0; }, "stride is 0");
  refuses([](Conv2d& c) { c.padding = -1; }, "padding is -1");
  refuses([](Conv2d& c) { c.padding = 0; }, "a kernel of 3 on an image of 2");
  refuses([](Conv2d& c) { c.height = 3; }, "3 x 5 in a sequence of 10");
  refuses([](Conv2d& c) { c.groups = 2; }, "kernel^2 in_channels/groups is 18");
  refuses([](Conv2d& c) { c.kernel = std::int64_t{1} << 31; }, "kernel");
  refuses([](Conv2d& c) { c.weight.std = -1.0; }, "conv");
}

}  // namespace scalecalc::passes
