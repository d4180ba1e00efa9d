#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "scalecalc/named_parameters.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/transfer.hpp"

using namespace scalecalc;

namespace {

constexpr GrowthAxis width = GrowthAxis::width, heads = GrowthAxis::heads;

std::map<std::string, TransferTensor> tensors(const ModelSpec& spec,
                                              const std::vector<GrowthAxis>& axes = {width}) {
  std::map<std::string, TransferTensor> result;
  for (const TransferTensor& tensor : transfer_model(spec, axes).tensors)
    result.emplace(tensor.name, tensor);
  return result;
}

TransferSolution solved(const ModelSpec& spec, const char* optimizer, const char* parametrization,
                        const std::vector<GrowthAxis>& axes) {
  TransferProblem problem;
  problem.model = transfer_model(spec, axes);
  problem.optimizer = transfer_optimizer(optimizer);
  problem.parametrization = parametrization_from(parametrization);
  problem.axes = axes;
  return solve_transfer(problem);
}

const TensorTransfer& named(const TransferSolution& solution, const std::string& name) {
  for (const TensorTransfer& tensor : solution.tensors)
    if (tensor.tensor.name == name) return tensor;
  throw Error(ErrorKind::fault, "no tensor " + name);
}

}  // namespace

TEST_CASE("a convolution of each channel by itself has a fan-in that does not grow") {
  const ModelSpec spec = parse_model(
      "[model]\nkind = \"layers\"\nfeatures = 3\nsequence = 64\nheight = 8\nclasses = 10\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 16\nkernel = 3\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 16\nkernel = 3\ngroups = 16\n"
      "[[layer]]\ntype = \"conv2d\"\nchannels = 16\nkernel = 3\ngroups = 4\n"
      "[[layer]]\ntype = \"pool\"\n"
      "[[layer]]\ntype = \"linear\"\nwidth = 10\n",
      "list");
  const auto found = tensors(spec);
  CHECK(found.at("conv2d[1].weight").fan_in[width] == Rational(0));
  CHECK(found.at("conv2d[*].weight").fan_in[width] == Rational(1));
  // Adam steps it as the input's table, and by 1/width what sums over channels.
  const TransferSolution solution = solved(spec, "adam", "mup", {width});
  const auto step = [&](const char* name) {
    const TensorTransfer& tensor = named(solution, name);
    return (tensor.lr * tensor.multiplier)[width];
  };
  CHECK(step("conv2d[1].weight") == Rational(0));
  CHECK(step("conv2d[*].weight") == Rational(-1));
}

TEST_CASE("kinds follow from shapes") {
  const auto gpt2 = tensors(find_model("gpt2"));
  CHECK(gpt2.at("embedding.weight").kind == TensorKind::embedding);
  CHECK(gpt2.at("embedding.position").kind == TensorKind::embedding);
  CHECK(gpt2.at("block[*].attn.q.weight").kind == TensorKind::hidden);
  CHECK(gpt2.at("block[*].attn.q.weight").in_branch);
  CHECK(gpt2.at("block[*].attn.q.weight").matrices == 2);
  CHECK(gpt2.at("block[*].ffn.out.weight").fan_in[width] == Rational(1));
  CHECK(gpt2.at("block[*].ffn.out.bias").kind == TensorKind::bias);
  CHECK(gpt2.at("final_norm.gain").kind == TensorKind::norm_gain);
  CHECK(gpt2.at("final_norm.gain").behind_stream);
  CHECK_FALSE(gpt2.at("final_norm.gain").in_branch);
  CHECK(gpt2.at("head.weight").kind == TensorKind::output);

  const auto mlp = tensors(find_model("mlp-relu"));
  CHECK(mlp.at("layer[0].linear.weight").kind == TensorKind::embedding);
  CHECK(mlp.at("layer[*].linear.weight").kind == TensorKind::hidden);
  CHECK(mlp.at("layer[*].linear.weight").repeats);
  CHECK_FALSE(mlp.at("layer[*].linear.weight").in_branch);
}

TEST_CASE("every preset grows in width and depth, and every number of it is found") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    const ModelSpec spec = find_model(preset.name);
    if (spec.modulation != AdaptiveNorm::none) {  // whose maps of a condition have no rule
      CHECK_THROWS_AS(transfer_model(spec, {width}), Error);
      continue;
    }
    // A U-Net has no block that repeats.
    std::vector<GrowthAxis> axes = {width};
    if (preset.name != "unet-small") axes.push_back(GrowthAxis::depth);
    const TransferModel model = transfer_model(spec, axes);
    CHECK_FALSE(model.tensors.empty());
    for (const char* optimizer : {"sgd", "adamw", "lamb", "muon", "muon+adamw"})
      for (const std::string& name : parametrization_names()) {
        TransferProblem problem;
        problem.model = model;
        problem.optimizer = transfer_optimizer(optimizer);
        problem.parametrization = parametrization_from(name);
        const TransferSolution solution = solve_transfer(problem);
        for (const TensorTransfer& tensor : solution.tensors) {
          CAPTURE(tensor.tensor.name);
          // What steps a feature keeps it: multiplier * std * sqrt(fan_in) is 1, or below in heads.
          if (tensor.tensor.kind == TensorKind::hidden ||
              tensor.tensor.kind == TensorKind::embedding)
            if (!tensor.tensor.is_tied)
              CHECK((tensor.multiplier[width] + tensor.std[width] +
                     tensor.tensor.fan_in[width] * Rational(1, 2))
                        .is_zero());
          // Decoupled decay forgets at the same rate.
          CHECK((tensor.lr[width] + (*tensor.decay)[width]).is_zero());
        }
      }
  }
}

TEST_CASE("the scale of scores: 1/head_width once queries and keys align") {
  const ModelSpec spec = find_model("pre-ln-12");
  const TransferSolution grown = solved(spec, "adam", "mup", {width, heads});
  REQUIRE(grown.attention);
  CHECK((*grown.attention)[width] == Rational(-1));
  CHECK((*grown.attention)[heads] == Rational(1));  // at the same width heads get narrower
  CHECK_FALSE(grown.warnings.empty());              // the preset's is head_width^(-1/2)
  ModelSpec mup = spec;
  mup.attention_scale = Expr(1) / Expr::symbol("head_width");
  for (const std::string& warning : solved(mup, "adam", "mup", {width}).warnings)
    CHECK(warning.find("scores") == std::string::npos);
}

TEST_CASE("a tied head and its table are one tensor") {
  ModelSpec spec = find_model("gpt2");
  spec.tie_head = true;
  spec.head_bias = false;
  const TransferSolution mup = solved(spec, "adam", "mup", {width});
  const TensorTransfer &table = named(mup, "embedding.weight"), &head = named(mup, "head.weight");
  CHECK(table.std[width] == head.std[width]);
  CHECK(table.lr[width] == head.lr[width]);
  CHECK(table.multiplier[width] == Rational(1, 2));
  CHECK(head.multiplier[width] == Rational(-1, 2));
  CHECK(table.lr[width] == Rational(-1, 2));
  // With multipliers of 1 the head's logits ask for the smaller std, and for the smaller step.
  const TransferSolution standard = solved(spec, "adam", "standard", {width});
  CHECK(named(standard, "embedding.weight").std[width] == Rational(-1, 2));
  CHECK(named(standard, "embedding.weight").lr[width] == Rational(-1));
  bool said = false;
  for (const std::string& warning : standard.warnings)
    said = said || warning.find("tied") != std::string::npos;
  CHECK(said);
}

TEST_CASE("where the norm stands") {
  const auto norm = [](const char* placement) {
    ModelSpec spec = find_model("pre-ln-12");
    spec.placement = placement_from(placement);
    return transfer_model(spec, {width});
  };
  CHECK(norm("pre").norm == StreamNorm::each_read);
  CHECK(norm("sandwich").norm == StreamNorm::each_read);
  CHECK(norm("resi-dual").norm == StreamNorm::each_read);
  CHECK(norm("post").norm == StreamNorm::each_sum);
  CHECK(norm("none").norm == StreamNorm::none);
  CHECK(norm("rezero").starts_closed);
  CHECK_FALSE(norm("pre").starts_closed);
}

TEST_CASE("grouped keys, wide heads and models that cannot grow") {
  ModelSpec grouped = find_model("pre-ln-12");
  grouped.heads = 4;
  grouped.kv_heads = 2;
  const auto found = tensors(grouped, {width, heads});
  CHECK(found.at("block[*].attn.k.weight").fan_out[width] == Rational(1));
  CHECK(found.at("block[*].attn.k.weight").fan_out[heads] == Rational(0));
  ModelSpec wide = find_model("pre-ln-12");
  wide.head_width = 24;
  const auto inner = tensors(wide, {heads});
  CHECK(inner.at("block[*].attn.o.weight").fan_in[heads] == Rational(1));
  CHECK(inner.at("block[*].attn.o.weight").fan_out[heads] == Rational(0));
  CHECK_THROWS_AS(tensors(find_model("mlp-relu"), {heads}), Error);
  CHECK_THROWS_AS(tensors(find_model("gpt2"), {GrowthAxis::experts}), Error);
  // Of unlike blocks no power of the depth says what they add up to.
  ModelSpec scaled = find_model("pre-ln-12");
  scaled.norm_scale = parse("l^(-1/2)");
  CHECK_THROWS_AS(tensors(scaled, {GrowthAxis::depth}), Error);
  CHECK(tensors(scaled, {width}).size() == tensors(find_model("pre-ln-12"), {width}).size());
  ModelSpec dyt = find_model("pre-ln-12");
  dyt.norm = NormKind::dyt;
  CHECK_THROWS_AS(tensors(dyt, {width}), Error);
}

TEST_CASE("every parameter has the exponents of its own shapes") {
  std::vector<ModelSpec> specs;
  for (const Preset& preset : presets())
    if (preset.name != "dit-s-2") specs.push_back(find_model(preset.name));
  // Layers of one pattern that map the input, the width, and to a constant width by a head inside.
  ModelSpec list = default_spec(ModelSpec::Kind::layers);
  LayerSpec linear, attention, act;
  linear.width = 48;
  act.type = LayerSpec::Type::activation;
  attention.type = LayerSpec::Type::attention;
  attention.heads = 4;
  list.layer_list = {linear, act, linear, attention, linear, act, linear};
  specs.push_back(list);
  for (ModelSpec& spec : specs) {
    if (!spec.alpha) spec.alpha = Expr(1);
    if (!spec.lambda) spec.lambda = Expr(1);
    const std::map<std::string, TransferTensor> found = tensors(spec);
    const std::vector<ParameterInfo> small = parameters(build_network(spec)),
                                     large = parameters(build_network(grown(spec, width, 4)));
    REQUIRE(small.size() == large.size());
    for (std::size_t i = 0; i < small.size(); ++i) {
      CAPTURE(small[i].path);
      auto at = found.find(small[i].path);
      if (at == found.end()) at = found.find(path_pattern(small[i].path));
      if (at == found.end()) {
        CHECK(is_ours_alone(spec, small[i].path));
        continue;
      }
      // Four times as wide, or not; what has a constant part beside it too.
      const auto grows = [](std::int64_t a, std::int64_t b) { return Rational(b > a ? 1 : 0); };
      CHECK(at->second.fan_out[width] == grows(small[i].columns, large[i].columns));
      if (small[i].is_matrix)
        CHECK(at->second.fan_in[width] == grows(small[i].rows, large[i].rows));
    }
  }
}

TEST_CASE("an mlp of one layer has no hidden matrix, until it is deepened") {
  ModelSpec one = find_model("mlp-relu");
  one.layers = 1;
  const auto has_hidden = [&](const std::vector<GrowthAxis>& axes) {
    for (const auto& [name, tensor] : tensors(one, axes))
      if (tensor.kind == TensorKind::hidden) return true;
    return false;
  };
  CHECK_FALSE(has_hidden({width}));
  CHECK(has_hidden({width, GrowthAxis::depth}));
}
