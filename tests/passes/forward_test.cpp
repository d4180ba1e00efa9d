#include <doctest/doctest.h>

#include <limits>

#include "interpreter.hpp"
#include "networks.hpp"

namespace scalecalc::passes {
namespace {

void check_forward(const Network& network) {
  Passes<double> passes(network, {5, 1, "cpu"});
  // Gains and shifts start at 1 and 0: move them, or their order would not matter.
  for (std::size_t i = 0; i < passes.parameters().size(); ++i) {
    const auto size = static_cast<std::size_t>(passes.parameter(i).size());
    passes.add(i, normal_values(size, i).data(), 0.1);
  }
  const double expected = Interpreter(network, passes).loss(5);
  // Some 60 operations in a row, each amplified a few times by a norm or a softmax.
  CHECK(std::fabs(passes.loss() - expected) <
        60.0 * 4.0 * std::numeric_limits<double>::epsilon() * expected);
}

}  // namespace

TEST_CASE("forward: every placement against an interpreter written with loops") {
  for (const Placement placement : {Placement::post, Placement::pre, Placement::res_post,
                                    Placement::sandwich, Placement::sub_ln, Placement::none}) {
    for (const NormKind norm : {NormKind::layernorm, NormKind::rmsnorm, NormKind::none}) {
      CAPTURE(static_cast<int>(placement));
      CAPTURE(static_cast<int>(norm));
      NetworkOptions options;
      options.placement = placement;
      options.norm = norm;
      options.blocks = 2;
      options.sequence = 4;
      options.batch = 2;
      check_forward(HandBuilt(options).transformer());
      options.causal = options.bias = options.affine = options.tokens = true;
      options.eps = 0.3;
      options.reduction = Reduction::mean;
      options.activation = "relu";
      check_forward(HandBuilt(options).transformer());
    }
  }
}

TEST_CASE("forward: mlps and networks of build_network against the interpreter") {
  NetworkOptions options;
  options.blocks = 3;
  options.bias = true;
  check_forward(HandBuilt(options).mlp());
  for (const Placement placement : {Placement::post, Placement::res_post, Placement::sandwich}) {
    ModelSpec spec = default_spec(ModelSpec::Kind::transformer);
    spec.layers = 2;
    spec.width = 8;
    spec.ffn = 12;
    spec.sequence = 5;
    spec.alpha = Expr(3);
    spec.placement = placement;
    check_forward(build_network(spec));
  }
}

TEST_CASE("forward: the newer layers against the interpreter") {
  Attention grouped = attention("attn", 6, 6, 2);
  grouped.qk_norm = grouped.causal = true;
  Attention cross = attention("cross", 6, 2, 1);
  cross.over_memory = cross.causal = true;
  Residual trained = residual("block", {{grouped}});
  trained.trainable_branch = true;
  trained.shortcut = {{dense("block.shortcut", 6, 6)}};
  trained.norm = Norm{"block.norm", NormKind::instancenorm, 6, 0.1, true};
  const Gated gated{"act", "silu", dense("gate", 6, 9), dense("in", 6, 9)};
  Linear scaled = dense("scaled", 9, 6);
  scaled.multiplier = 0.4;
  scaled.weight_norm = WeightNorm::demodulated;
  DualStream dual{"dual", {}, {"dual.norm", NormKind::scalenorm, 6, 0.0, true}};
  for (const char* path : {"one", "two"}) {
    Residual sublayer = residual(path, {{dense(std::string(path) + ".in", 6, 6)}}, 0.9, 1.2);
    sublayer.norm = Norm{std::string(path) + ".norm", NormKind::layernorm, 6, 0.0, false};
    sublayer.trainable_branch = dual.sublayers.empty();
    dual.sublayers.push_back(std::move(sublayer));
  }
  Network network = network_of(
      {{Embedding{"embedding", 5, 6, 1.0, 0.5}},
       {trained},
       {residual("cross", {{cross}})},
       {Parallel{"both", {{{gated}, {scaled}}, {{dense("other", 6, 6)}}}}},
       {Experts{"experts",
                dense("router", 6, 3),
                2,
                Experts::Score::softmax,
                true,
                {{{dense("one", 6, 6)}}, {{dense("two", 6, 6)}}, {{dense("three", 6, 6)}}}}},
       {Norm{"batch", NormKind::batchnorm, 6, 0.1, false}},
       {dual}},
      6, 5, 3);
  network.input = InputKind::tokens;
  network.memory_sequence = 4;
  network.memory_cross = 0.5;
  check_forward(network);
  network.reduction = Reduction::mean;
  network.layers.insert(network.layers.end() - 1, {Pool{"pool"}});
  check_forward(network);
  network.loss = Loss::mse;
  check_forward(network);
}

TEST_CASE("forward: residual attention against the interpreter") {
  Attention first = attention("first", 6, 6, 2), second = attention("second", 6, 6, 2);
  const Attention apart = attention("apart", 6, 6, 2);
  for (Attention* layer : {&first, &second}) {
    layer->residual_attention = layer->causal = true;
  }
  second.qk_norm = true;
  Network network = network_of({{residual("first", {{first}})},
                                {residual("apart", {{apart}})},
                                {residual("second", {{second}})}},
                               6, 5, 3);
  check_forward(network);
  std::get<Attention>(std::get<Residual>(network.layers[0].op).body[0].op).residual_attention =
      false;
  check_forward(network);
}

TEST_CASE("forward: ALiBi against the interpreter") {
  Attention one = attention("one", 12, 4, 2), two = attention("two", 12, 2, 1);
  one.causal = two.causal = true;
  one.alibi = 1;
  two.alibi = 0.5;
  two.qk_norm = true;
  two.qk_norm_all = true;
  two.qk_norm_eps = 0.5;
  check_forward(network_of(
      {{residual("one", {{one}})}, {residual("two", {{two}})}, {residual("three", {{one}})}}, 12, 5,
      3));
}

TEST_CASE("forward: relative biases against the interpreter") {
  Attention one = attention("one", 12, 4, 2), two = attention("two", 12, 4, 1);
  one.relative = two.relative = {4, 3, 0.5, true};
  two.qk_norm = true;
  two.relative.is_own = false;
  Attention causal = attention("causal", 12, 4, 4), last = attention("last", 12, 4, 4);
  causal.causal = last.causal = true;
  causal.relative = last.relative = {6, 4, 1.0, true};
  last.relative.is_own = false;
  last.softcap = 0.5;
  check_forward(network_of({{residual("one", {{one}})},
                            {residual("two", {{two}})},
                            {residual("causal", {{causal}})},
                            {residual("last", {{last}})}},
                           12, 9, 3));
}

TEST_CASE("forward: soft caps against the interpreter") {
  Attention one = attention("one", 12, 4, 2), two = attention("two", 12, 2, 1), all = one;
  one.causal = two.causal = true;
  one.softcap = 0.5;
  one.window = 2;
  two.softcap = 0.25;
  two.alibi = 1;
  all.softcap = 2;
  Network network = network_of(
      {{residual("one", {{one}})}, {residual("two", {{two}})}, {residual("all", {{all}})}}, 12, 5,
      3);
  check_forward(network);
  network.logit_softcap = 0.5;
  check_forward(network);
  network.loss = Loss::mse;
  check_forward(network);
}

TEST_CASE("forward: windows against the interpreter") {
  Attention one = attention("one", 12, 4, 2), two = attention("two", 12, 2, 1), all = one;
  one.causal = two.causal = all.causal = true;
  one.window = 2;
  two.window = 3;
  two.rotary = {4, 10.0};
  all.window = 5;
  all.alibi = 1;
  check_forward(network_of(
      {{residual("one", {{one}})}, {residual("two", {{two}})}, {residual("all", {{all}})}}, 12, 5,
      3));
  all.window = 4;
  check_forward(network_of({{residual("one", {{one}})}, {residual("all", {{all}})}}, 12, 5, 3));
}

TEST_CASE("forward: rotary positions against the interpreter") {
  Attention all = attention("all", 12, 2, 1), some = attention("some", 12, 2, 2);
  all.causal = all.qk_norm = true;
  all.rotary = {6, 10.0};
  some.rotary = {4, 10000.0};
  Attention slow = some;
  slow.q.path = "slow.q", slow.k.path = "slow.k", slow.v.path = "slow.v", slow.o.path = "slow.o";
  slow.path = "slow";
  slow.rotary = {4, 10000.0, {0.75, 0.125}, 1.5};
  check_forward(network_of({{residual("all", {{all}})}, {residual("some", {{some}})}}, 12, 5, 3));
  check_forward(network_of({{residual("some", {{some}})}, {residual("slow", {{slow}})}}, 12, 5, 3));
}

TEST_CASE("forward: two stacks against the interpreter") {
  ModelSpec spec;
  spec.encoder_decoder = spec.residual_attention = spec.causal = true;
  spec.layers = 2;
  spec.decoder_layers = 3;
  spec.width = 8;
  spec.heads = 2;
  spec.ffn = 12;
  spec.vocab = 6;
  spec.sequence = 4;
  spec.memory.sequence = 5;
  spec.batch = 2;
  for (const InputKind input : {InputKind::gaussian, InputKind::tokens}) {
    spec.input.kind = input;
    spec.input.positions = input == InputKind::tokens ? 0.5 : 0.0;
    for (const Placement placement : {Placement::pre, Placement::post, Placement::resi_dual}) {
      spec.placement = placement;
      check_forward(build_network(spec));
    }
  }
  spec.residual_attention = false;
  spec.k_bias = false;
  spec.bias = spec.memory.sinusoids = true;
  spec.memory.features = 3;
  spec.memory.conv_strides = "1 3";
  check_forward(build_network(spec));
}

TEST_CASE("forward: fixed positions of a grid, against the interpreter") {
  ClassTokens grid{"embedding", 0, 8, 6, 0.0, 0.0, true};
  grid.columns = 3;
  Network network = network_of({{dense("patch", 4, 8)}, {grid}}, 8, 6, 3);
  network.features = 4;
  network.batch = 2;
  check_forward(network);
}

TEST_CASE("forward: convolutions along a sequence, and sinusoids, against the interpreter") {
  Conv2d first = conv("first", 4, 6, 3, 1, 8), second = conv("second", 6, 6, 3, 1, 8);
  first.one_row = second.one_row = true;
  first.padding = second.padding = 1;
  second.stride = second.groups = 2;
  first.weight = dense("first", 3 * 4, 6);
  second.weight = dense("second", 3 * 3, 6);
  second.weight.bias = true;
  Network network = network_of({{first},
                                {ActivationLayer{"act", "gelu"}},
                                {second},
                                {ActivationLayer{"last", "gelu"}},
                                {ClassTokens{"embedding", 0, 6, 4, 0.0, 0.0, true}},
                                {residual("attn", {{attention("attn", 6, 2, 2)}})}},
                               6, 8, 3);
  network.features = 4;
  network.batch = 2;
  check_forward(network);
}

}  // namespace scalecalc::passes
