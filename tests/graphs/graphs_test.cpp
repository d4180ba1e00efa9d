#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "graphs/fixture.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/graphs.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/named_parameters.hpp"
#include "temporary_folder.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

GraphModel graph_of(const std::string& name, const StdOf& std_of = plain) {
  const TemporaryFolder folder;
  return read_graph(file_of(name, folder / "model.pt2", std_of));
}

std::string refused(const std::string& name) {
  try {
    graph_of(name);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// "type type(type ...)" of a list and what it contains.
std::string types(const std::vector<LayerSpec>& layers) {
  static const char* const names[] = {
      "linear",   "activation",       "norm",     "attention", "gated",  "dropout",   "conv2d",
      "conv1d",   "conv_transpose2d", "residual", "concat",    "repeat", "embedding", "pool",
      "max_pool", "upsample",         "encoder"};
  std::string text;
  for (const LayerSpec& layer : layers) {
    text += (text.empty() ? "" : " ") + std::string(names[static_cast<int>(layer.type)]);
    if (!layer.layers.empty()) text += "(" + types(layer.layers) + ")";
  }
  return text;
}

/// Every tensor of the file is the name of a parameter, but those given.
void check_names(const std::string& name, const std::vector<std::string>& others = {}) {
  const GraphModel model = graph_of(name);
  const NamedParameters named =
      name_parameters(build_network(model.spec), naming_of(model.spec, "torch"));
  std::vector<std::string> known = others;
  for (const NamedTensor& tensor : named.tensors) known.push_back(tensor.name);
  const Json whole = fixture(name);
  for (const auto& [tensor, about] :
       whole["lists"]["data/weights/model_weights_config.json"]["config"].items()) {
    CAPTURE(name);
    CAPTURE(tensor);
    if (about["is_param"].get<bool>())
      CHECK(std::find(known.begin(), known.end(), tensor) != known.end());
  }
}

/// The lines of a model file that say what a model is, and not what its words are or how it trains.
/// The data of vit say qkv_bias again, and nothing of the bias of its classifier, which starts at
/// 0.
std::vector<std::string> lines_of(const ModelSpec& spec) {
  std::vector<std::string> lines;
  std::string text = model_text(spec);
  text = text.substr(0, text.find("[names]"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::erase_if(lines, [](const std::string& line) {
    const auto begins = [&](const char* key) { return line.starts_with(std::string(key) + " ="); };
    return line.empty() || begins("names") || begins("zipf") || begins("dropout") ||
           begins("dropout_place") || begins("attention_dropout") || begins("batch") ||
           begins("cross") || begins("head_bias") || begins("qkv_bias");
  });
  return lines;
}

void check_same(const std::string& name, const std::string& config, const StdOf& std_of) {
  LibraryModel library = parse_config(config, "config.json");
  REQUIRE(library.spec);
  library.spec->activation = activation(library.spec->activation).name;  // gelu_new is an alias
  CAPTURE(name);
  const std::vector<std::string> found = lines_of(graph_of(name, std_of).spec),
                                 due = lines_of(*library.spec);
  REQUIRE(found.size() == due.size());
  for (std::size_t i = 0; i < due.size(); ++i) CHECK(found[i] == due[i]);
}

/// Both propagate to the same numbers, but for rounding: of a graph some are found by other sums.
void check_numbers(const ModelSpec& found, const ModelSpec& due) {
  const Trace a = propagate(build_network(found)), b = propagate(build_network(due));
  constexpr double rounding = 1e-9;
  REQUIRE(a.sites.size() == b.sites.size());
  for (std::size_t i = 0; i < a.sites.size(); ++i) {
    CHECK(a.sites[i].path == b.sites[i].path);
    CHECK(a.sites[i].second.value == doctest::Approx(b.sites[i].second.value).epsilon(rounding));
  }
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    CHECK(a.parameters[i].path == b.parameters[i].path);
    CHECK(a.parameters[i].grad_second.value ==
          doctest::Approx(b.parameters[i].grad_second.value).epsilon(rounding));
  }
}

}  // namespace

TEST_CASE("two stacks with relative biases are those of the config") {
  const StdOf t5 = [](const std::string& name, std::size_t rank) {
    if (rank < 2) return -1.0;
    if (name.starts_with("shared") || name.find("embed_tokens") != std::string::npos) return 1.0;
    // Of 100 features; of four heads of 16.
    return name.ends_with(".q.weight") ? 0.025 : name.ends_with(".o.weight") ? 0.125 : 0.1;
  };
  const ModelSpec spec = graph_of("t5", t5).spec;
  CHECK(spec.encoder_decoder);
  CHECK(spec.layers == 2);
  CHECK(spec.relative_buckets == 8);
  CHECK(spec.relative_distance == 12);
  CHECK(spec.memory.sequence == 16);
  CHECK(spec.sequence == 12);
  CHECK(spec.tie_head);
  LibraryModel library = parse_config(
      R"({"model_type": "t5", "vocab_size": 64, "d_model": 100, "d_kv": 16, "d_ff": 100,
          "num_layers": 2, "num_heads": 4, "relative_attention_num_buckets": 8,
          "relative_attention_max_distance": 12, "dropout_rate": 0,
          "architectures": ["T5ForConditionalGeneration"]})",
      "config.json");
  REQUIRE(library.spec);
  library.spec->sequence = 12;
  library.spec->memory.sequence = 16;
  library.spec->input.zipf = 0;
  library.spec->batch = 2;
  check_numbers(spec, *library.spec);
  // One tensor under several names.
  check_names("t5", {"lm_head.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                     "shared.weight"});
}

TEST_CASE("windows in every second block, norms on both sides of branches, soft caps") {
  // Their gain is 1 + weight.
  const ModelSpec spec = graph_of("gemma2", [](const std::string&, std::size_t rank) {
                           return rank > 1 ? 0.02 : 0.0;
                         }).spec;
  CHECK(spec.placement == Placement::sandwich);
  CHECK(spec.window == 8);
  CHECK(spec.window_pattern == "LG");
  CHECK(spec.attention_softcap == 50);
  CHECK(spec.logit_softcap == 30);
  CHECK(spec.gain_offset);
  LibraryModel library = parse_config(
      R"({"model_type": "gemma2", "vocab_size": 64, "hidden_size": 64, "intermediate_size": 96,
          "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
          "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 8,
          "max_position_embeddings": 16})",
      "config.json");
  REQUIRE(library.spec);
  library.spec->input.zipf = 0;
  library.spec->batch = 2;
  check_numbers(spec, *library.spec);
  check_names("gemma2", {"lm_head.weight"});
}

TEST_CASE("torch's own attention, by its mask, and attention to another input") {
  const ModelSpec blocks = graph_of("blocks").spec;
  CHECK(blocks.kind == ModelSpec::Kind::transformer);
  CHECK(blocks.causal);
  CHECK(blocks.layers == 3);
  CHECK(blocks.heads == 4);
  check_names("blocks");
  const ModelSpec stacks = graph_of("translator").spec;
  CHECK(types(stacks.layer_list).starts_with("encoder(residual(norm attention) residual(norm "));
  CHECK(stacks.memory.sequence == 8);
  CHECK(stacks.sequence == 6);
  const std::vector<LayerSpec>& block = stacks.layer_list[1].layers;
  REQUIRE(block.size() == 3);
  CHECK(block[0].layers[1].causal);
  CHECK(!block[0].layers[1].memory);
  CHECK(block[1].layers[1].memory);
  CHECK(!block[1].layers[1].causal);
  check_names("translator");
}

TEST_CASE("a ConvNeXt: norms over the last dimension, learnt vectors that multiply branches") {
  const ModelSpec spec = graph_of("convnext").spec;
  CHECK(types(spec.layer_list)
            .starts_with("conv2d norm residual(conv2d norm linear activation "
                         "linear)"));
  check_names("convnext");
}

TEST_CASE("a ResNet of the library: a stem with a max pool, shortcuts, means") {
  const ModelSpec spec = graph_of("resnet").spec;
  CHECK(types(spec.layer_list) ==
        "conv2d norm activation max_pool residual(conv2d norm activation conv2d norm) activation "
        "residual(conv2d norm activation conv2d norm) activation "
        "residual(conv2d norm activation conv2d norm) activation pool linear");
  const LayerSpec& pool = spec.layer_list[3];
  CHECK(pool.kernel == 3);
  CHECK(pool.stride == 2);
  CHECK(pool.padding == 1);
  CHECK(types(spec.layer_list[6].shortcut) == "conv2d norm");
}

// What a graph has measured is within 1% of what the config says (neat()); with that in its place
// the two are one network.
TEST_CASE("a ResNet of its graph and of its config are the same network") {
  const LibraryModel library = parse_config(
      R"({"model_type": "resnet", "embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 2],
          "layer_type": "basic", "num_labels": 10})",
      "config.json");
  REQUIRE(library.spec);
  std::map<std::string, double> stds;
  for (const LibraryTensor& tensor : library.tensors) stds[tensor.name] = tensor.std;
  ModelSpec graph = graph_of("resnet", [&](const std::string& name, std::size_t rank) {
                      return rank == 1 && stds.at(name) == 0 ? plain(name, rank) : stds.at(name);
                    }).spec;
  ModelSpec config = *library.spec;
  config.sequence = graph.sequence;
  config.height = graph.height;
  config.batch = graph.batch;
  const std::function<void(std::vector<LayerSpec>&, const std::vector<LayerSpec>&)> align =
      [&](std::vector<LayerSpec>& measured, const std::vector<LayerSpec>& due) {
        REQUIRE(measured.size() == due.size());
        for (std::size_t i = 0; i < due.size(); ++i) {
          CHECK(measured[i].std.has_value() == due[i].std.has_value());
          // neat() rounds within 1%.
          if (due[i].std) CHECK(std::fabs(*measured[i].std / *due[i].std - 1) <= 0.01);
          measured[i].std = due[i].std;
          measured[i].distribution = due[i].distribution;
          CHECK(measured[i].bias_std.has_value() == due[i].bias_std.has_value());
          measured[i].bias_std = due[i].bias_std;
          align(measured[i].layers, due[i].layers);
          align(measured[i].shortcut, due[i].shortcut);
        }
      };
  align(graph.layer_list, config.layer_list);
  const Trace of_graph = propagate(build_network(graph)),
              of_config = propagate(build_network(config));
  REQUIRE(of_graph.sites.size() == of_config.sites.size());
  for (std::size_t i = 0; i < of_config.sites.size(); ++i) {
    CAPTURE(of_config.sites[i].path);
    CHECK(of_graph.sites[i].second.value == of_config.sites[i].second.value);
    CHECK(of_graph.sites[i].grad_second.value == of_config.sites[i].grad_second.value);
  }
  REQUIRE(of_graph.parameters.size() == of_config.parameters.size());
  for (std::size_t i = 0; i < of_config.parameters.size(); ++i)
    CHECK(of_graph.parameters[i].grad_second.value == of_config.parameters[i].grad_second.value);
  // Each calls its parameters as the library does.
  const auto names_of = [](const ModelSpec& spec) {
    std::set<std::string> names;
    for (const NamedTensor& tensor :
         name_parameters(build_network(spec), naming_of(spec, "torch")).tensors)
      names.insert(tensor.name);
    return names;
  };
  CHECK(names_of(graph) == names_of(config));
}

TEST_CASE("a U-Net: skips that are concatenated around all that is deeper") {
  const std::string twice = "conv2d norm activation conv2d norm activation";
  const auto skip = [&](const std::string& deeper, const std::string& up) {
    return "concat(max_pool " + twice + deeper + " " + up + ")";
  };
  for (const auto& [name, up] :
       {std::pair{"unet", "conv_transpose2d"}, {"unet-upsample", "upsample conv2d"}}) {
    CAPTURE(name);
    // Of one std the first two would be a repeat, or the last.
    const auto std_of = [](const std::string& weight, std::size_t rank) {
      return weight == "inc.0.weight" || weight == "conv2.0.weight" ? 0.3 : plain(weight, rank);
    };
    const ModelSpec spec = graph_of(name, std_of).spec;
    CHECK(types(spec.layer_list) ==
          twice + " " + skip(" " + skip("", up) + " " + twice, up) + " " + twice + " linear");
    CHECK(spec.vocab == 0);
    CHECK(spec.layer_list.back().width == 5);
    CHECK(model_text(parse_model(model_text(spec), "model.toml")) == model_text(spec));
    check_names(name);
  }
  const Network network = build_network(graph_of("unet").spec);
  const auto& joined = std::get<Concat>(network.layers[6].op);
  CHECK(joined.stream == 16);
  CHECK(joined.branch == 16);
}

TEST_CASE("plain modules become lists of layers") {
  const GraphModel mlp = graph_of("mlp");
  CHECK(types(mlp.spec.layer_list) == "linear activation linear activation linear");
  CHECK(mlp.spec.features == 48);
  CHECK(mlp.spec.layer_list[0].std == 0.02);
  CHECK(mlp.spec.layer_list[1].activation == "relu");
  CHECK(mlp.library.starts_with("torch 2"));

  const GraphModel residual = graph_of("residual-mlp");
  CHECK(types(residual.spec.layer_list) == "linear repeat(residual(norm gated linear)) linear");
  CHECK(residual.spec.layers == 3);
  const LayerSpec& branch = residual.spec.layer_list[1].layers[0];
  CHECK(to_string(branch.branch) == "1/2");
  CHECK(branch.layers[1].activation == "silu");
  CHECK(branch.layers[1].width == 64);

  const GraphModel conv = graph_of("convnet");
  CHECK(types(conv.spec.layer_list) ==
        "conv2d norm activation residual(conv2d norm activation conv2d) conv2d activation conv2d "
        "activation pool linear");
  CHECK(conv.spec.height == 8);
  CHECK(conv.spec.sequence == 64);
  CHECK(conv.spec.layer_list[4].stride == 2);
  CHECK(conv.spec.layer_list[6].groups == 48);
}

TEST_CASE("operations that are written out are what they compute") {
  const ModelSpec spec = graph_of("written-out").spec;
  CHECK(types(spec.layer_list) ==
        "repeat(residual(attention) norm residual(linear activation linear) norm) pool linear");
  const std::vector<LayerSpec>& block = spec.layer_list[0].layers;
  CHECK(block[0].layers[0].heads == 3);
  CHECK(block[0].layers[0].causal);
  CHECK(block[1].norm == NormKind::layernorm);
  CHECK(block[1].eps == 1e-5);
  CHECK(block[2].layers[1].activation == "gelu_tanh");
}

TEST_CASE("heads are found however they are cut") {
  const ModelSpec einsum = graph_of("einsum").spec;
  CHECK(types(einsum.layer_list) == "residual(norm attention) linear");
  const LayerSpec& attention = einsum.layer_list[0].layers[1];
  CHECK(attention.heads == 4);
  CHECK(!attention.causal);
  CHECK(!attention.scale);
  CHECK(attention.rotary_base == 500);

  const ModelSpec encoder = graph_of("encoder").spec;
  CHECK(types(encoder.layer_list) ==
        "repeat(residual(attention) norm residual(linear activation linear) norm) linear");
  CHECK(encoder.layer_list[0].layers[0].layers[0].heads == 4);
}

TEST_CASE("blocks that are alike are a transformer") {
  const ModelSpec spec = graph_of("gpt").spec;
  CHECK(spec.kind == ModelSpec::Kind::transformer);
  CHECK(spec.layers == 3);
  CHECK(spec.width == 64);
  CHECK(spec.heads == 4);
  CHECK(spec.causal);
  CHECK(spec.tie_head);
  CHECK(spec.norm == NormKind::rmsnorm);
  CHECK(spec.placement == Placement::pre);
  CHECK(spec.input.kind == InputKind::tokens);
  CHECK(spec.init.std == 0.02);
}

TEST_CASE("every tensor of a file is named") {
  check_names("mlp");
  check_names("residual-mlp");
  check_names("convnet");
  check_names("resnet");
  check_names("written-out");
  check_names("einsum");
  check_names("encoder");
  check_names("llama");
  // What is tied has the name that the module has first.
  check_names("gpt", {"head.weight"});
  check_names("gpt2", {"lm_head.weight"});
  check_names("bert", {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"});
  check_names("vit");
}

TEST_CASE("a graph is what its config says") {
  const StdOf gpt2 = [](const std::string& name, std::size_t rank) {
    // c_proj: divided by the root of 2 N = 4 branches.
    return rank > 1 && name.ends_with("c_proj.weight") ? 0.02 / 2 : plain(name, rank);
  };
  const char* const of_gpt2 =
      R"({"model_type": "gpt2", "vocab_size": 64, "n_positions": 16, "n_embd": 64, "n_layer": 2,
          "n_head": 4, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0})";
  check_same("gpt2", of_gpt2, gpt2);
  check_same("gpt2-eager", of_gpt2, gpt2);
  check_same(
      "llama",
      R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 64, "intermediate_size": 96,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "max_position_embeddings": 16})",
      plain);
  check_same("bert",
             R"({"model_type": "bert", "vocab_size": 64, "hidden_size": 64, "intermediate_size": 96,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 16,
                 "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0})",
             plain);
  check_same("vit",
             R"({"model_type": "vit", "hidden_size": 64, "intermediate_size": 96,
                 "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 16,
                 "patch_size": 4, "architectures": ["ViTForImageClassification"],
                 "id2label": {"0": "0", "1": "1", "2": "2", "3": "3", "4": "4", "5": "5", "6": "6",
                              "7": "7", "8": "8", "9": "9"},
                 "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0})",
             plain);
}

TEST_CASE("what is no tree, or not known, is named with its line") {
  const std::string skip = refused("long-skip");
  CHECK(has(skip, "no tree"));
  CHECK(has(skip, "modules.py:"));
  const std::string unknown = refused("unknown");
  CHECK(has(unknown, "aten.cumsum.default"));
  CHECK(has(unknown, "torch.cumsum(self.a(x), dim=-1)"));
  const std::string inputs = refused("two-inputs");
  CHECK(has(inputs, "two inputs"));
  CHECK(has(inputs, "return self.a(x) + self.b(y)"));
}

TEST_CASE("a model file of a graph reads back to the same model") {
  for (const char* name :
       {"mlp", "residual-mlp", "convnet", "written-out", "gpt", "gpt2", "llama"}) {
    CAPTURE(name);
    const std::string text = model_text(graph_of(name).spec);
    CHECK(model_text(parse_model(text, "model.toml")) == text);
  }
}
