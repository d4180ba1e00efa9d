#include "gradient_check.hpp"
#include "layer_networks.hpp"
#include "tolerance.hpp"

/// Every kind of layer but attention inside a small network, its parameters' gradients against
/// differences.
namespace scalecalc::passes {
namespace {

using namespace testing;

Layer norm_layer(NormKind kind, bool affine = false) {
  return {Norm{"norm", kind, 6, 0.1, affine}};
}

}  // namespace

TEST_CASE("layers: functions without a kernel of their own") {
  for (const char* function : {"silu", "softplus", "mish", "x*exp(-x^2)"}) {
    CAPTURE(function);
    check_gradients(around({{ActivationLayer{"act", function}}}));
  }
}

TEST_CASE("layers: gated units") {
  for (const char* function : {"sigmoid", "silu", "gelu"}) {
    CAPTURE(function);
    check_gradients(around(
        {{Gated{"act", function, dense("gate", 6, 9), dense("in", 6, 9)}}, {dense("out", 9, 6)}}));
  }
}

TEST_CASE("layers: a condition, with labels or without, modulates norms and gates branches") {
  for (const std::int64_t classes : {0, 3})
    for (const std::int64_t batch : {1, 3}) {
      CAPTURE(classes);
      ConditionLayer condition{"condition", {{dense("condition.in", 5, 6)}}, classes, 6, 0.5, {}};
      condition.activated = {{ActivationLayer{"condition.activated", "silu"}}};
      const Modulation norm{"modulated", dense("scale", 6, 6), dense("shift", 6, 6)},
          gate{"gated", dense("gate", 6, 6), std::nullopt};
      Network network = around(
          {{condition},
           {residual("block",
                     {norm_layer(NormKind::rmsnorm), {norm}, {dense("block.in", 6, 6)}, {gate}})},
           {ActivationLayer{"act", "tanh"}}});
      network.batch = batch;
      network.condition_features = 5;
      network.condition_cross = 0.5;
      check_gradients(network);
    }
}

TEST_CASE("layers: what a modulation asks for") {
  const Modulation gate{"gated", dense("gate", 6, 6), std::nullopt};
  CHECK(refusal_of(around({{gate}})).find("there is no condition") == 0);
  ConditionLayer condition{"condition", {{dense("condition.in", 5, 4)}}, 0, 4, 0, {}};
  Network network = around({{condition}, {gate}});
  CHECK(refusal_of(network).find("condition_features") == 0);
  network.condition_features = 5;
  CHECK(refusal_of(network).find("width 4 expected, got 6") == 0);
  network.layers.insert(network.layers.begin(), {condition});
  CHECK(refusal_of(network).find("the condition is there already") == 0);
}

TEST_CASE("layers: dropout keeps its mask from pass to pass") {
  check_gradients(around({{Dropout{"dropout", 0.4}}}));
  const Network dropped = around({{Dropout{"dropout", 0.4}}});
  const Network kept = around({{Dropout{"dropout", 0.0}}});
  Passes<double> passes(dropped, {});
  const double loss = passes.loss();
  CHECK(loss == passes.loss());
  CHECK(loss != Passes<double>(kept, {}).loss());
}

TEST_CASE("layers: drop path keeps a sample whole or drops it whole") {
  check_gradients(around({{Dropout{"dropout", 0.4, true}}}));
}

TEST_CASE("layers: every norm") {
  for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm, NormKind::scalenorm,
                              NormKind::batchnorm, NormKind::instancenorm, NormKind::none}) {
    CAPTURE(static_cast<int>(kind));
    check_gradients(around({norm_layer(kind), {ActivationLayer{"act", "tanh"}}}));
    check_gradients(around({norm_layer(kind, true), {ActivationLayer{"act", "tanh"}}}));
  }
}

TEST_CASE("layers: multiplied and normalised weights") {
  for (const WeightNorm kind : {WeightNorm::none, WeightNorm::spectral, WeightNorm::demodulated}) {
    CAPTURE(static_cast<int>(kind));
    for (const std::int64_t width : {3, 6, 11}) {
      Linear layer = dense("layer", 6, width);
      layer.std = 1.0;
      layer.multiplier = 0.7;
      layer.bias = true;
      layer.bias_std = 0.5;
      layer.weight_norm = kind;
      check_gradients(
          around({{layer}, {ActivationLayer{"act", "tanh"}}, {dense("back", width, 6)}}));
    }
  }
}

TEST_CASE("layers: residuals with a trained scalar, and with a shortcut") {
  Residual trained = residual("block", {{dense("block.in", 6, 6)}});
  trained.trainable_branch = true;
  trained.norm = Norm{"block.norm", NormKind::layernorm, 6, 0.0, true};
  trained.shortcut = {{dense("block.shortcut", 6, 6)}};
  check_gradients(around({{trained}, {ActivationLayer{"act", "tanh"}}}));
  trained.branch = 0.0;
  check_gradients(around({{trained}}));
  Residual narrowing = residual("block", {{dense("block.in", 6, 2)}, {dense("block.out", 2, 5)}});
  narrowing.shortcut = {{dense("block.shortcut", 6, 5)}};
  check_gradients(around({{narrowing}, {dense("back", 5, 6)}}));
}

TEST_CASE("layers: a dual stream") {
  DualStream dual{"dual", {}, {"dual.norm", NormKind::layernorm, 6, 0.0, true}};
  for (const char* path : {"one", "two"}) {
    Residual sublayer =
        residual(path, {{dense(std::string(path) + ".in", 6, 6)}, {ActivationLayer{"act", "tanh"}}},
                 1.0, 0.7);
    sublayer.norm = Norm{std::string(path) + ".norm", NormKind::layernorm, 6, 0.0, false};
    sublayer.trainable_branch = dual.sublayers.empty();
    dual.sublayers.push_back(std::move(sublayer));
  }
  check_gradients(around({{dual}}));
}

TEST_CASE("layers: branches of one input") {
  Attention wide = attention("attn", 6, 2, 1);
  wide.head_width = 5;
  for (Linear* part : {&wide.q, &wide.k, &wide.v}) part->fan_out = part == &wide.q ? 10 : 5;
  wide.o.fan_in = 10;
  const Parallel together{
      "both",
      {{{wide}},
       {{dense("in", 6, 9)}, {ActivationLayer{"act", "tanh"}}, {dense("out", 9, 6)}},
       {{dense("third", 6, 6)}}}};
  check_gradients(around({{residual("block", {{together}})}}));
  Parallel apart = together;
  apart.branches.push_back({{dense("other", 6, 4)}});
  CHECK_THROWS_AS(Passes<double>(around({{apart}}), {}), Error);
}

TEST_CASE("layers: experts that a router chooses") {
  const auto expert = [](const std::string& path) {
    return std::vector<Layer>{
        {dense(path + ".in", 6, 9)}, {ActivationLayer{path + ".act", "tanh"}}, {dense(path, 9, 6)}};
  };
  Experts layer{"experts", dense("router", 6, 4), 2, Experts::Score::softmax, true, {}};
  for (const char* path : {"a", "b", "c", "d"}) layer.experts.push_back(expert(path));
  for (const Experts::Score score : {Experts::Score::softmax, Experts::Score::sigmoid})
    for (const bool normalised : {true, false}) {
      layer.score = score;
      layer.normalised = normalised;
      check_gradients(around({{residual("block", {{layer}})}}));
    }
  Experts apart = layer;
  apart.experts.back() = {{dense("other", 6, 5)}};
  CHECK_THROWS_AS(Passes<double>(around({{apart}}), {}), Error);
  layer.top_k = 5;
  CHECK_THROWS_AS(Passes<double>(around({{layer}}), {}), Error);
}

TEST_CASE("layers: pooling leaves one row for each sequence") {
  const Network network = around({{Pool{"pool"}}, {ActivationLayer{"act", "tanh"}}});
  check_gradients(network);
  Network silent = network;
  std::get<Linear>(silent.layers.back().op).std = 0.0;
  CHECK(Passes<double>(silent, {}).loss() == rounded(2.0 * std::log(3.0), 8));
}

TEST_CASE("layers: a factor for each feature of a branch, and gains of 1 + w") {
  Residual scaled = residual("block", {{dense("block.in", 6, 6)}}, 1.0, 0.3);
  scaled.trainable_branch = true;
  scaled.scale_features = 6;
  Norm norm{"norm", NormKind::layernorm, 6, 0.1, true};
  norm.gain_offset = true;
  const Network network = around({{scaled}, {norm}, {ActivationLayer{"act", "tanh"}}});
  check_gradients(network);
  // The parameter starts at 0 and the gain at 1.
  Network plain = network;
  std::get<Norm>(plain.layers[2].op).gain_offset = false;
  CHECK(Passes<double>(network, {}).loss() == Passes<double>(plain, {}).loss());
  scaled.scale_features = 5;
  CHECK(refusal_of(around({{scaled}})).find("5 factors of 6 features (block)") == 0);
}

TEST_CASE("layers: norms whose output is scaled, and tanh with an alpha of its own") {
  for (const bool affine : {false, true}) {
    Norm norm{"norm", NormKind::rmsnorm, 6, 0.1, affine};
    norm.scale = 0.25;
    Norm dyt{"dyt", NormKind::dyt, 6, 0.0, affine};
    dyt.alpha = 0.7;
    const Network network = around({{norm}, {dense("next", 6, 6)}, {dyt}});
    check_gradients(network);
    // Weights of a quarter make the same of the norm's output.
    Network plain = network;
    std::get<Norm>(plain.layers[1].op).scale = 1;
    std::get<Linear>(plain.layers[2].op).multiplier = 0.25;
    CHECK(Passes<double>(network, {}).loss() == rounded(Passes<double>(plain, {}).loss(), 4));
    Residual closed = residual("block", {{dense("block.in", 6, 6)}}, 1.0, 0.3);
    closed.norm = dyt;
    check_gradients(around({{closed}}));
  }
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Norm norm{"norm", NormKind::dyt, 6, 0.0, false};
    norm.alpha = bad;
    CHECK(refusal_of(around({{norm}})).find("alpha is ") == 0);
    norm.alpha = 1;
    norm.scale = bad;
    CHECK(refusal_of(around({{norm}})).find("scale is ") == 0);
  }
}

TEST_CASE("layers: class tokens and positions, and what a head reads of them") {
  for (const std::int64_t count : {0, 1, 2})
    for (const double positions : {0.0, 0.5})
      for (const Pool::Of of : {Pool::Of::all, Pool::Of::first, Pool::Of::rest, Pool::Of::last}) {
        if (of == Pool::Of::first && count == 0) continue;
        if (of == Pool::Of::last && count != 0) continue;
        Network network =
            network_of({{dense("patch", 6, 6)},
                        {ClassTokens{"embedding", count, 6, 4 + count, 0.7, positions}},
                        {residual("attn", {{attention("attn", 6, 2, 2)}})},
                        {ActivationLayer{"act", "tanh"}},
                        {Pool{"pool", of, count}}},
                       6, 4);
        network.batch = 2;
        check_gradients(network);
      }
  const auto refused = [](std::int64_t tokens, std::int64_t skipped) {
    return refusal_of(network_of({{ClassTokens{"embedding", 1, 6, tokens, 0.7, 0.0}},
                                  {Pool{"pool", Pool::Of::first, skipped}}},
                                 6, 4));
  };
  CHECK(refused(5, 1) == "no error");
  CHECK(refused(6, 1) ==
        "6 tokens behind 1 class tokens and 4 others (embedding); these must add up");
  CHECK(refused(5, 0).find("0 class tokens of 5 (pool)") == 0);
  CHECK(refused(5, 5).find("5 class tokens of 5 (pool)") == 0);
  CHECK(refusal_of(network_of({{Pool{"pool", Pool::Of::last, 1}}}, 6, 4)).find("1 class tokens") ==
        0);
}

TEST_CASE("layers: convolutions with strides, padding and groups") {
  for (const std::int64_t groups : {1, 2}) {
    for (const std::int64_t stride : {1, 2}) {
      CAPTURE(groups);
      CAPTURE(stride);
      Conv2d layer = conv("conv", 4, 6, 3, 5, 4);
      layer.groups = groups;
      layer.stride = stride;
      layer.padding = stride == 1 ? 1 : 0;
      layer.weight = dense("conv", 9 * 4 / groups, 6);
      layer.weight.bias = true;
      layer.weight.bias_std = 0.4;
      layer.weight.weight_norm = groups == 1 ? WeightNorm::demodulated : WeightNorm::none;
      Network network = network_of({{dense("first", 4, 4)},
                                    {layer},
                                    {Norm{"norm", NormKind::batchnorm, 6, 0.1, false}},
                                    {ActivationLayer{"act", "tanh"}},
                                    {Pool{"pool"}}},
                                   6, 20);
      network.features = 4;
      check_gradients(network);
    }
  }
}

TEST_CASE("layers: convolutions along a sequence, and sinusoids behind them") {
  for (const std::int64_t stride : {1, 2}) {
    Conv2d layer = conv("conv", 4, 6, 3, 1, 8);
    layer.one_row = true;
    layer.groups = 2;
    layer.stride = stride;
    layer.padding = 1;
    layer.weight = dense("conv", 3 * 4 / 2, 6);
    const std::int64_t tokens = 8 / stride;
    Network network = network_of({{dense("first", 4, 4)},
                                  {layer},
                                  {ActivationLayer{"act", "tanh"}},
                                  {ClassTokens{"embedding", 0, 6, tokens, 0.0, 0.0, true}},
                                  {ActivationLayer{"last", "tanh"}}},
                                 6, 8);
    network.features = 4;
    network.batch = 2;
    check_gradients(network);
    layer.weight = dense("conv", 9 * 4 / 2, 6);
    network.layers[1].op = layer;
    CHECK(refusal_of(network).find("kernel in_channels/groups is 6") != std::string::npos);
  }
  const Network odd = network_of({{ClassTokens{"embedding", 0, 5, 4, 0.0, 0.0, true}}}, 5, 4);
  CHECK(refusal_of(odd) ==
        "sinusoids of 5 features (embedding); they are pairs of a sine and a cosine");
}

TEST_CASE("layers: the largest of windows") {
  const MaxPool layer{"pool", 4, 3, 2, 1, 5, 4};
  Network network = network_of(
      {{dense("first", 4, 4)}, {layer}, {ActivationLayer{"act", "tanh"}}, {dense("last", 4, 6)}}, 6,
      20);
  network.features = 4;
  check_gradients(network);
  const auto refused = [&](MaxPool wrong) {
    Network other = network;
    other.layers[1].op = std::move(wrong);
    return refusal_of(other);
  };
  CHECK(refused({"pool", 4, 3, 2, 2, 5, 4}).find("a padding of 2 of a kernel of 3") == 0);
  CHECK(refused({"pool", 4, 3, 2, 1, 5, 5}).find("an image of 5 x 5") == 0);
  CHECK(refused({"pool", 4, 7, 2, 1, 5, 4}).find("a kernel of 7") == 0);
  CHECK(refused({"pool", 4, 3, 0, 1, 5, 4}).find("stride") == 0);
}

TEST_CASE("layers: features beside those that layers make of them") {
  const auto beside = [](std::vector<Layer> body, std::int64_t branch) {
    Concat layer;
    layer.path = "skip";
    layer.body = std::move(body);
    layer.stream = 4;
    layer.branch = branch;
    return layer;
  };
  Network network =
      network_of({{dense("first", 4, 4)},
                  {beside({{ActivationLayer{"act", "tanh"}}, {dense("inner", 4, 3)}}, 3)},
                  {dense("last", 7, 6)}},
                 6);
  network.features = 4;
  check_gradients(network);
  network.layers[1].op = beside({{dense("inner", 4, 3)}}, 2);
  CHECK(refusal_of(network).find("skip") != std::string::npos);
  network.layers[1].op = beside({{Pool{"pool"}}}, 4);
  CHECK(refusal_of(network).find("1 tokens beside") == 0);
}

TEST_CASE("layers: an image that is made larger") {
  const Upsample up{"up", 4, 2, 2, 3};
  Conv2d back = conv("back", 4, 6, 3, 4, 6);
  back.stride = 2;
  back.padding = 1;
  back.weight = dense("back", 9 * 4, 6);
  Conv2d larger = conv("larger", 6, 4, 3, 2, 3);
  larger.transposed = true;
  larger.stride = 2;
  larger.padding = 1;
  larger.output_padding = 1;
  larger.weight = dense("larger", 9 * 6, 4);
  larger.weight.bias = true;
  larger.weight.bias_std = 0.3;
  CHECK(larger.out_height() == 4);
  CHECK(larger.out_width() == 6);
  Network network = network_of({{dense("first", 4, 4)},
                                {up},
                                {back},
                                {ActivationLayer{"act", "tanh"}},
                                {larger},
                                {dense("last", 4, 6)}},
                               6, 6);
  network.features = 4;
  check_gradients(network);
  const auto refused = [&](std::size_t at, auto wrong) {
    Network other = network;
    other.layers[at].op = std::move(wrong);
    return refusal_of(other);
  };
  CHECK(refused(1, Upsample{"up", 4, 0, 2, 3}).find("factor") == 0);
  CHECK(refused(1, Upsample{"up", 4, 2, 2, 2}).find("an image of 2 x 2") == 0);
  Conv2d wrong = larger;
  wrong.output_padding = 2;
  CHECK(refused(4, wrong).find("an output padding of 2") == 0);
  wrong = larger;
  wrong.padding = 9;
  CHECK(refused(4, wrong).find("a padding of 9") == 0);
}

TEST_CASE("layers: positions, and words of Zipf's frequencies") {
  Network network = network_of({{Embedding{"embedding", 5, 6, 1.0, 0.5}}}, 6);
  network.input = InputKind::tokens;
  network.zipf = 1.0;
  check_gradients(network);
}

TEST_CASE("layers: squared errors, as a sum and as a mean") {
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    Network network = around({{ActivationLayer{"act", "tanh"}}});
    network.loss = Loss::mse;
    network.target_second = 2.0;
    network.reduction = reduction;
    check_gradients(network);
  }
}

}  // namespace scalecalc::passes
