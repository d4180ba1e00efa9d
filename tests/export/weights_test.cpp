#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "scalecalc/error.hpp"
#include "scalecalc/export.hpp"
#include "scalecalc/passes.hpp"
#include "temporary_folder.hpp"
#include "tensor_values.hpp"
#include "weights/safetensors.hpp"

using namespace scalecalc;

namespace {

struct TemporaryFile {
  testing::TemporaryFolder folder;
  std::string path = folder / "w.safetensors";
};

ModelSpec tiny(const char* name) {
  ModelSpec spec = find_model(name);
  if (spec.kind == ModelSpec::Kind::layers) return spec;
  spec.layers = 2;
  spec.width = 16;
  spec.heads = 2;
  spec.ffn = 24;
  spec.vocab = 20;
  spec.sequence = 8;
  return spec;
}

MatrixView<float> find(const Passes<float>& passes, const std::string& path) {
  for (std::size_t i = 0; i < passes.parameters().size(); ++i)
    if (passes.parameters()[i].path == path) return passes.parameter(i);
  FAIL("no parameter " << path);
  return {};
}

}  // namespace

TEST_CASE("weights that one tensor holds in rounds are those of the parts") {
  const ModelSpec spec = tiny("gpt2");
  // Of 2 heads of 8 columns; four devices with 4 columns each.
  for (const auto& [names, tensor, order, rounds] :
       {std::tuple{"hf-gpt-neox", "layers.1.attention.query_key_value.weight", "qkv", 2},
        {"hf-codegen", "h.1.attn.qkv_proj.weight", "qvk", 4}}) {
    CAPTURE(names);
    PassOptions options;
    options.seed = 5;
    const Passes<float> passes(build_network(spec), options);
    NamedPlan plan = named_plan(spec, "tiny", Target::pytorch, names);
    plan.named.unnamed.clear();
    const TemporaryFile file;
    write_weights(plan, file.path, {5, 1, "f32"});
    const std::vector<double> packed = test::tensor_values(weights::Reader(file.path), tensor);
    REQUIRE(packed.size() == 3 * 16 * 16);
    const std::int64_t share = 16 / rounds;
    std::size_t different = 0;
    for (std::int64_t output = 0; output < 48; ++output)
      for (std::int64_t input = 0; input < 16; ++input) {
        const std::int64_t round = output / (3 * share), within = output % (3 * share);
        const char part = order[within / share];
        const MatrixView<float> drawn =
            find(passes, std::string("block[1].attn.") + part + ".weight");
        const auto value = static_cast<double>(
            drawn.data[static_cast<std::size_t>(input * 16 + round * share + within % share)]);
        if (packed[static_cast<std::size_t>(output * 16 + input)] != value) ++different;
      }
    CHECK(different == 0);
  }
}

TEST_CASE("the weights of a file are those that passes of the seed start from") {
  const ModelSpec spec = tiny("gpt2");
  const Network network = build_network(spec);
  PassOptions options;
  options.seed = 5;
  const Passes<float> passes(network, options);
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    const TemporaryFile file;
    write_weights(named_plan(spec, "tiny", Target::pytorch, transposed ? "nanogpt" : "hf-gpt2"),
                  file.path, {5, 1, "f32"});
    const weights::Reader reader(file.path);
    const std::vector<double> packed = test::tensor_values(reader, "h.1.attn.c_attn.weight");
    const char* const paths[] = {"block[1].attn.q.weight", "block[1].attn.k.weight",
                                 "block[1].attn.v.weight"};
    std::size_t different = 0;
    for (std::size_t part = 0; part < 3; ++part) {
      const MatrixView<float> drawn = find(passes, paths[part]);
      for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t o = 0; o < 16; ++o) {
          const std::size_t output = part * 16 + o;
          const double stored = transposed ? packed[output * 16 + i] : packed[i * 48 + output];
          if (stored != static_cast<double>(drawn.data[i * 16 + o])) ++different;
        }
    }
    CHECK(different == 0);
    CHECK(test::tensor_values(reader, "ln_f.weight") == std::vector<double>(16, 1.0));
    CHECK(test::tensor_values(reader, "ln_f.bias") == std::vector<double>(16, 0.0));
  }
}

TEST_CASE("a convolution is stored by its taps in either layout") {
  const ModelSpec spec = tiny("resnet-v1");
  const TemporaryFile in_torch, in_flax;
  const NamedPlan torch = named_plan(spec, "resnet", Target::pytorch);
  const NamedPlan flax = named_plan(spec, "resnet", Target::flax);
  write_weights(torch, in_torch.path);
  write_weights(flax, in_flax.path);
  const weights::Reader torch_file(in_torch.path), flax_file(in_flax.path);
  for (std::size_t t = 0; t < torch.named.tensors.size(); ++t) {
    const std::vector<std::int64_t> shape = torch.named.tensors[t].shape;
    if (shape.size() != 4 || shape[2] == 1) continue;
    const std::vector<double> a = test::tensor_values(torch_file, torch.named.tensors[t].name);
    const std::vector<double> b = test::tensor_values(flax_file, flax.named.tensors[t].name);
    const auto at = [&](std::int64_t o, std::int64_t i, std::int64_t y, std::int64_t x) {
      return static_cast<std::size_t>(((o * shape[1] + i) * shape[2] + y) * shape[3] + x);
    };
    std::size_t different = 0, next = 0;
    for (std::int64_t y = 0; y < shape[2]; ++y)
      for (std::int64_t x = 0; x < shape[3]; ++x)
        for (std::int64_t i = 0; i < shape[1]; ++i)
          for (std::int64_t o = 0; o < shape[0]; ++o)
            if (b[next++] != a[at(o, i, y, x)]) ++different;
    CHECK(different == 0);
    return;
  }
  FAIL("no convolution");
}

TEST_CASE("narrow types are roundings of the same draws") {
  const NamedPlan plan = named_plan(tiny("gpt2"), "tiny", std::nullopt);
  const TemporaryFile wide, narrow;
  write_weights(plan, wide.path, {1, 1, "f32"});
  write_weights(plan, narrow.path, {1, 1, "bf16"});
  const auto a = test::tensor_values(weights::Reader(wide.path), "lm_head.weight");
  const auto b = test::tensor_values(weights::Reader(narrow.path), "lm_head.weight");
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(std::abs(a[i] - b[i]) <= std::abs(a[i]) / 256);  // 8 bits of mantissa, rounded
  CHECK_THROWS_AS(write_weights(plan, wide.path, {1, 1, "f8"}), Error);
}

TEST_CASE("weights without a name are refused") {
  ModelSpec spec = tiny("gpt2");
  spec.cross_attention = true;
  const TemporaryFile file;
  CHECK_THROWS_AS(write_weights(named_plan(spec, "x", Target::pytorch), file.path), Error);
}
