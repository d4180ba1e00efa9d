#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "../temporary_folder.hpp"
#include "scalecalc/architectures.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/named_parameters.hpp"

namespace scalecalc {
namespace {

std::string refusal(const std::string& json) {
  try {
    parse_config(json, "config.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "";
}

bool says(const std::string& line, const std::string& part) {
  CAPTURE(line);
  return line.find(part) != std::string::npos;
}

const LibraryTensor& tensor(const LibraryModel& model, const std::string& name) {
  for (const LibraryTensor& one : model.tensors)
    if (one.name == name) return one;
  FAIL(name);
  return model.tensors.front();
}

}  // namespace

TEST_CASE("absent keys and null are what the library takes") {
  const LibraryModel model =
      parse_config(R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
                       "num_key_value_heads": null, "num_hidden_layers": 1})",
                   "config.json");
  CHECK(model.class_name == "LlamaForCausalLM");
  using Shape = std::vector<std::int64_t>;
  CHECK(tensor(model, "lm_head.weight").shape == Shape{32000, 64});
  CHECK(tensor(model, "model.layers.0.self_attn.k_proj.weight").shape == Shape{64, 64});
  CHECK(tensor(model, "model.layers.0.mlp.up_proj.weight").shape == Shape{11008, 64});
}

TEST_CASE("rotary positions are where a config says them") {
  struct Case {
    const char *type, *keys;
    double base, fraction;
    bool remarked;
  };
  for (const Case& of :
       {Case{"llama", "", 10000, 1, false},
        {"llama", R"("rope_theta": 5e5,)", 5e5, 1, false},
        {"llama", R"("rope_theta": 3, "rope_parameters": {"rope_theta": 1e6},)", 1e6, 1, false},
        {"llama", R"("rope_parameters": {"rope_theta": 500, "rope_type": "default"},)", 500, 1,
         false},
        {"llama", R"("rope_theta": 2e4, "rope_scaling": {"type": "linear", "factor": 2},)", 2e4, 1,
         false},
        {"llama", R"("rope_parameters": {"rope_type": "proportional", "factor": 2},)", 10000, 1,
         true},
        {"phi", R"("rope_scaling": {"type": "dynamic", "factor": 4},)", 10000, 0.5, false},
        {"cohere", "", 500000, 1, false},
        {"phi", "", 10000, 0.5, false},
        {"phi", R"("partial_rotary_factor": 0.25,)", 10000, 0.25, false},
        {"phi", R"("rope_parameters": {"partial_rotary_factor": 0.75},)", 10000, 0.75, false},
        {"gpt_neox", "", 10000, 0.25, false},
        {"gpt_neox", R"("rotary_pct": 1.0, "rotary_emb_base": 100,)", 100, 1, false},
        {"gptj", R"("rotary_dim": 8,)", 10000, 0.5, false},
        {"gptj", R"("rotary_dim": null,)", 10000, 1, false},
        {"codegen", R"("rotary_dim": 4,)", 10000, 0.25, false},
        {"falcon", "", 10000, 1, false},
        {"falcon", R"("alibi": true,)", 0, 1, false},
        {"gemma3_text", R"("rope_local_base_freq": 700,)", 1e6, 1, false},
        {"gemma3_text", R"("rope_local_base_freq": 700, "sliding_window": null,)", 700, 1, true},
        {"gemma3_text", R"("sliding_window": null, "layer_types": ["full_attention"],)", 1e6, 1,
         false},
        {"gemma3_text", R"("rope_parameters": {"sliding_attention": {"rope_theta": 90},
                              "full_attention": {"rope_theta": 2e6}},)",
         2e6, 1, false},
        {"gemma3_text", R"("rope_parameters": {"sliding_attention": {"rope_type": "linear"}},)",
         1e6, 1, true}}) {
    const std::string text = std::string("{\"model_type\": \"") + of.type + "\", " + of.keys +
                             R"("hidden_size": 64, "num_attention_heads": 4, "n_embd": 64,
                             "n_head": 4, "num_hidden_layers": 1, "n_layer": 1})";
    CAPTURE(text);
    const LibraryModel model = parse_config(text, "config.json");
    REQUIRE(model.spec);
    CHECK(model.spec->rotary_base == of.base);
    CHECK(model.spec->rotary_fraction == of.fraction);
    const auto is_rotary = [](const std::string& line) { return line.starts_with("rotary"); };
    CHECK(std::any_of(model.remarks.begin(), model.remarks.end(), is_rotary) == of.remarked);
  }
  for (const char* wrong : {"3", "\"x\""})
    CHECK(says(refusal(std::string(R"({"model_type": "llama", "rope_parameters": )") + wrong + "}"),
               "rope_parameters['rope_type'] takes an entry"));
  for (const char* wrong : {R"("rope_theta": "x")", R"("rope_theta": -1)"}) {
    const LibraryModel model = parse_config(
        std::string(R"({"model_type": "llama", "num_hidden_layers": 1, )") + wrong + "}", "c.json");
    CHECK_FALSE(model.spec);
    CHECK_FALSE(model.why_no_spec.empty());
  }
}

TEST_CASE("what slows rotary positions is what the library makes of a config") {
  struct Case {
    const char *type, *keys, *fields;
  };
  for (const Case& of :
       {Case{"llama", R"("rope_scaling": {"type": "linear", "factor": 2})",
             "rotary_scaling = \"linear\"\nrotary_factor = 2\n"},
        {"llama", R"("rope_parameters": {"rope_type": "dynamic", "factor": 2},
                        "max_position_embeddings": 64)",
         "rotary_scaling = \"dynamic\"\nrotary_factor = 2\nrotary_original = 64\n"},
        {"llama", R"("rope_parameters": {"rope_type": "llama3", "factor": 8,
                        "low_freq_factor": 2, "high_freq_factor": 5,
                        "original_max_position_embeddings": 32.0})",
         "rotary_scaling = \"llama3\"\nrotary_factor = 8\nrotary_original = 32\n"
         "rotary_low = 2\nrotary_high = 5\n"},
        // What stands outside goes before, and the longest sequence behind.
        {"llama", R"("rope_parameters": {"rope_type": "yarn", "factor": 8,
                        "original_max_position_embeddings": 32},
                        "original_max_position_embeddings": 16)",
         "rotary_scaling = \"yarn\"\nrotary_factor = 8\nrotary_original = 16\n"},
        {"qwen2", R"("rope_scaling": {"type": "yarn", "factor": null, "beta_fast": 16,
                        "beta_slow": 0, "truncate": false, "attention_factor": 1.5},
                        "max_position_embeddings": 64)",
         "rotary_scaling = \"yarn\"\nrotary_original = 64\nrotary_high = 16\n"
         "rotary_truncate = false\nrotary_attention = 1.5\n"},
        {"llama", R"("rope_parameters": {"rope_type": "yarn", "factor": 8, "mscale": 1.0,
                        "mscale_all_dim": 1.0})",
         "rotary_scaling = \"yarn\"\nrotary_factor = 8\nrotary_original = 2048\n"
         "rotary_attention = 1\n"},
        {"phi3", R"("rope_scaling": {"type": "su", "short_factor": [1, 1.5],
                       "long_factor": [1, 4]}, "max_position_embeddings": 8192)",
         "rotary_scaling = \"longrope\"\nrotary_factor = 2\nrotary_original = 4096\n"
         "rotary_short = \"1 1.5\"\nrotary_long = \"1 4\"\n"},
        {"gemma3_text", R"("rope_scaling": {"rope_type": "linear", "factor": 8})",
         "rotary_scaling = \"linear\"\nrotary_factor = 8\nrotary_local_base = 10000\n"},
        {"gemma3_text", R"("rope_parameters": {"sliding_attention": {"rope_theta": 90},
                              "full_attention": {"rope_type": "linear", "factor": 4}})",
         "rotary_scaling = \"linear\"\nrotary_factor = 4\nrotary_local_base = 90\n"},
        {"falcon", R"("alibi": true, "rope_scaling": {"type": "linear", "factor": 2})", ""}}) {
    const std::string text =
        std::string("{\"model_type\": \"") + of.type + "\", " + of.keys +
        R"(, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 4,
           "num_hidden_layers": 1})";
    CAPTURE(text);
    const LibraryModel model = parse_config(text, "config.json");
    CAPTURE(model.why_no_spec);
    REQUIRE(model.spec);
    std::string fields;
    for (const auto& [name, value] : model_entries(model_text(*model.spec)))
      if (name.starts_with("model.rotary_") && name != "model.rotary_base")
        fields += name.substr(6) + " = " + value + "\n";
    CHECK(fields == of.fields);
  }
  for (const auto& [keys, why] :
       {std::pair{R"({"rope_type": "linear"})",
                  "rope_parameters has no factor, which rope_type linear asks for"},
        {R"({"rope_type": "linear", "factor": "x"})", "rope_parameters['factor'] is \"x\""},
        {R"({"rope_type": "linear", "factor": -1})", "rotary_factor must be finite and positive"},
        {R"({"rope_type": "llama3", "factor": 8})",
         "rope_parameters has no low_freq_factor, which rope_type llama3 asks for"},
        {R"({"rope_type": "longrope", "short_factor": [1]})",
         "rope_parameters['long_factor'] is no list, which rope_type longrope asks for"},
        {R"({"rope_type": "longrope", "short_factor": [1], "long_factor": ["x"]})",
         "rope_parameters['long_factor'] is \"x\""},
        {R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1], "factor": 2})",
         "rotary_short has 1 numbers"},
        {R"({"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 0})",
         "rotary_scaling yarn asks for rotary_original"}}) {
    const LibraryModel model = parse_config(
        std::string(R"({"model_type": "llama", "num_hidden_layers": 1, "rope_parameters": )") +
            keys + "}",
        "c.json");
    CAPTURE(keys);
    CHECK_FALSE(model.spec);
    CAPTURE(model.why_no_spec);
    CHECK(says(model.why_no_spec, why));
  }
}

TEST_CASE("ALiBi is where a config says it") {
  struct Case {
    const char *type, *keys;
    double alibi;
  };
  for (const Case& of : {Case{"bloom", "", 1},
                         {"mpt", R"("n_heads": 4, "d_model": 64,)", 1},
                         {"falcon", R"("alibi": true,)", 0.25},
                         {"falcon", "", 0}}) {
    const std::string text = std::string("{\"model_type\": \"") + of.type + "\", " + of.keys +
                             R"("hidden_size": 64, "num_attention_heads": 4, "n_head": 4})";
    CAPTURE(text);
    const LibraryModel model = parse_config(text, "config.json");
    REQUIRE(model.spec);
    CHECK(model.spec->alibi == of.alibi);
    const auto is_alibi = [](const std::string& line) {
      return line.find("ALiBi") != std::string::npos;
    };
    CHECK(std::none_of(model.remarks.begin(), model.remarks.end(), is_alibi));
  }
}

TEST_CASE("T5's relative biases are those of its config") {
  const auto spec_of = [](const std::string& more) {
    const LibraryModel model =
        parse_config(R"({"model_type": "t5", "d_model": 64, "num_heads": 4, "d_kv": 16,
                         "num_layers": 2)" +
                         more + "}",
                     "config.json");
    REQUIRE(model.spec);
    return *model.spec;
  };
  const ModelSpec plain = spec_of("");
  CHECK(plain.relative_buckets == 32);
  CHECK(plain.relative_distance == 128);
  CHECK(plain.relative_std == 1 / sqrt(Expr::symbol("width")));
  // An eighth of words of std 1, but in 1.1, whose configs say so in either way.
  CHECK(evaluate(plain.init.gain.at("head"), {}) == 0.125);
  for (const char* key : {"tie_word_embeddings", "scale_decoder_outputs"})
    CHECK(evaluate(spec_of(std::string(", \"") + key + "\": false").init.gain.at("head"), {}) == 1);
  const ModelSpec other = spec_of(R"(, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 20, "initializer_factor": 2.0)");
  CHECK(other.relative_buckets == 8);
  CHECK(other.relative_distance == 20);
  CHECK(evaluate(other.relative_std, {}) == doctest::Approx(0.25));
}

TEST_CASE("models of images have their patches, class tokens and the token that is read") {
  struct Case {
    const char* type;
    std::int64_t class_tokens;
    Pooling pool;
    const char* unnamed;  ///< a parameter that no one tensor of the library stands for
  };
  for (const Case& of : {Case{"vit", 1, Pooling::class_token, ""},
                         {"deit", 2, Pooling::class_token, ""},
                         {"dinov2", 1, Pooling::class_token, ""},
                         {"clip_vision_model", 1, Pooling::class_token, "head.weight"},
                         {"siglip_vision_model", 0, Pooling::mean, "head.weight"}}) {
    const LibraryModel model =
        parse_config(std::string(R"({"model_type": ")") + of.type +
                         R"(", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
                "image_size": 32, "patch_size": 8, "layerscale_value": 0.25})",
                     "config.json");
    CAPTURE(of.type);
    REQUIRE(model.spec);
    CHECK(model.spec->class_tokens == of.class_tokens);
    CHECK(model.spec->pool == of.pool);
    CHECK(model.spec->sequence == 16 + of.class_tokens);
    CHECK(model.spec->input.patch == 3 * 8 * 8);
    CHECK(model.spec->layer_scale == (std::string_view(of.type) == "dinov2" ? 0.25 : 0));
    const Network network = build_network(*model.spec);
    const NamedParameters named = name_parameters(network, naming_of(*model.spec, "scalecalc"));
    const std::vector<ParameterInfo> all = parameters(network);
    for (const std::size_t index : named.unnamed) CHECK(all[index].path == of.unnamed);
    CHECK(named.unnamed.size() == (*of.unnamed == 0 ? 0 : 1));
  }
}

TEST_CASE("gains of Gemma's norms are 1 + w") {
  for (const char* type : {"gemma", "gemma2", "gemma3_text", "llama"}) {
    const LibraryModel model = parse_config(
        std::string(R"({"model_type": ")") + type + R"(", "num_hidden_layers": 1})", "config.json");
    REQUIRE(model.spec);
    CHECK(model.spec->gain_offset == (std::string_view(type) != "llama"));
  }
}

TEST_CASE("windows are in the blocks that a config says") {
  struct Case {
    const char *type, *keys;
    std::int64_t window;
    const char* pattern;
  };
  for (const Case& of :
       {Case{"mistral", "", 4096, "L"},
        {"mistral", R"("sliding_window": 8,)", 8, "L"},
        {"mistral", R"("sliding_window": null,)", 0, "L"},
        {"phi3", "", 0, "L"},
        {"phi3", R"("sliding_window": 16,)", 16, "L"},
        {"qwen2", "", 0, "L"},
        {"qwen2", R"("use_sliding_window": true, "max_window_layers": 1, "sliding_window": 8,)", 8,
         "GL"},
        {"qwen3", R"("use_sliding_window": true, "max_window_layers": 5,)", 0, "L"},
        {"qwen3", R"("use_sliding_window": true,
                     "layer_types": ["sliding_attention", "full_attention"],)",
         4096, "LG"},
        {"gemma2", "", 4096, "LG"},
        {"gemma2", R"("layer_types": ["full_attention", "full_attention"],)", 0, "L"},
        {"gemma2", R"("use_bidirectional_attention": true,)", 0, "L"},
        {"gemma3_text", R"("sliding_window": 512,)", 512, "LLLLLG"},
        {"gpt_neo", R"("attention_types": [[["global", "local"], 1]],)", 256, "GL"},
        {"gpt_neo", R"("attention_types": [[["global"], 2]],)", 0, "L"}}) {
    const std::string text = std::string("{\"model_type\": \"") + of.type + "\", " + of.keys +
                             R"("hidden_size": 64, "num_attention_heads": 4, "num_heads": 4,
                             "num_key_value_heads": 4, "num_hidden_layers": 2, "num_layers": 2})";
    CAPTURE(text);
    const LibraryModel model = parse_config(text, "config.json");
    CAPTURE(model.why_no_spec);
    REQUIRE(model.spec);
    CHECK(model.spec->window == of.window);
    CHECK(model.spec->window_pattern == of.pattern);
  }
}

TEST_CASE("a config that cannot be read is one line that names the key") {
  CHECK(says(refusal("{"), "not JSON at byte"));
  CHECK(says(refusal("[]"), "a config is an object"));
  CHECK(says(refusal("{}"), "there is no model_type"));
  CHECK(says(refusal(R"({"model_type": 5})"), "there is no model_type"));
  CHECK(says(refusal(R"({"model_type": "lama"})"), "scalecalc list architectures names them"));
  CHECK(says(refusal(R"({"model_type": "llama", "hidden_size": "x"})"), "hidden_size is \"x\""));
  CHECK(says(refusal(R"({"model_type": "llama", "hidden_size": -4})"), "hidden_size is -4"));
  CHECK(says(refusal(R"({"model_type": "llama", "num_hidden_layers": 2.5})"), "is 2.5"));
  CHECK(says(refusal(R"({"model_type": "llama", "num_hidden_layers": 1e9})"), "million tensors"));
  // The first blocks tell that all of them would be too many.
  CHECK(says(refusal(R"({"model_type": "gpt2", "n_layer": 100000})"), "million tensors"));
  CHECK(says(refusal(R"({"model_type": "gpt2", "n_layer": 100000})"), "h.255"));
  CHECK(says(refusal(R"({"model_type": "llama", "head_dim": 8, "head_dim": 9})"),
             "head_dim is given twice"));
  CHECK(says(refusal(R"({"model_type": "llama", "rope_parameters": {"a": 1, "a": 1}})"),
             "a is given twice"));
  CHECK(says(refusal(R"({"model_type": "llama", "architectures": ["X"]})"), "unknown class 'X'"));
  CHECK(says(refusal(R"({"model_type": "llama", "num_key_value_heads": 3})"), "no multiple"));
  CHECK(says(refusal(R"({"model_type": "llama", "num_attention_heads": 7})"),
             "hidden_size is no multiple of num_attention_heads"));
  CHECK(says(refusal(R"({"model_type": "llama", "hidden_size": 1e999})"), "number is too large"));
  CHECK(says(refusal(std::string(100000, '[')), "not JSON"));
  CHECK(says(refusal(R"({"model_type": "llama", "x": )" + std::string(60, '[') +
                     std::string(60, ']') + "}"),
             "nested deeper"));
}

TEST_CASE("an activation that is not known here leaves the tensors as they are") {
  const LibraryModel model = parse_config(
      R"({"model_type": "llama", "hidden_act": "its_own", "num_hidden_layers": 1})", "config.json");
  CHECK(!model.spec);
  CHECK(says(model.why_no_spec, "its_own"));
  CHECK(!model.tensors.empty());
}

TEST_CASE("OPT's Post-Norm form begins without a norm") {
  const auto opt = [](const std::string& before) {
    return parse_config(
        R"({"model_type": "opt", "hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4,
            "do_layer_norm_before": )" +
            before + "}",
        "config.json");
  };
  REQUIRE(opt("true").spec);
  CHECK(opt("true").spec->placement == Placement::pre);
  CHECK_FALSE(opt("true").spec->input.norm);
  REQUIRE(opt("false").spec);
  CHECK(opt("false").spec->placement == Placement::post);
  CHECK(opt("false").spec->input.norm == false);
  const Network network = build_network(*opt("false").spec);
  CHECK(std::holds_alternative<Residual>(network.layers[1].op));
  const NamedParameters named =
      name_parameters(network, naming_of(*opt("false").spec, "scalecalc"));
  // The library's table of positions has two more rows.
  REQUIRE(named.unnamed.size() == 1);
  CHECK(parameters(network)[named.unnamed[0]].path == "embedding.position");
}

TEST_CASE("a config is found in a folder, and beside a file of weights") {
  const testing::TemporaryFolder folder;
  const auto weights = folder / "model.safetensors";
  CHECK(!is_config(folder / "."));
  CHECK(!is_config(weights));
  std::ofstream(folder / "config.json") << R"({"model_type": "llama", "num_hidden_layers": 1})";
  for (const std::string& path : {folder / "config.json", folder / ".", weights}) {
    CAPTURE(path);
    CHECK(is_config(path));
    CHECK(read_config(path).architecture == "llama");
  }
  CHECK_THROWS_AS(read_config(folder / "none.json"), Error);
  const std::string pickled = folder / "pytorch_model.bin";
  std::ofstream(pickled) << "PK\x03\x04 and so on";
  try {
    read_config(pickled);
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(says(error.what(), "nothing is unpickled"));
  }
  CHECK_THROWS_AS(read_config("/"), Error);
}

TEST_CASE("a config of timm beside weights, which has no sizes, leaves them to the weights") {
  const testing::TemporaryFolder folder;
  const auto weights = folder / "model.safetensors";
  std::ofstream(folder / "config.json") << R"({"architecture": "vit_base_patch16_224"})";
  CHECK(!is_config(weights));
  CHECK(!is_config(folder / "."));
  std::ofstream(folder / "config.json") << "{";
  CHECK(is_config(weights));
  CHECK_THROWS_AS(read_config(weights), Error);
}

TEST_CASE("the row of a padding index is counted from the end where it is negative") {
  const auto row_of = [](const std::string& pad) {
    return parse_config(R"({"model_type": "llama", "num_hidden_layers": 1, "vocab_size": 10,
                            "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8,
                            "pad_token_id": )" +
                            pad + "}",
                        "config.json")
        .tensors.front()
        .zero_row;
  };
  CHECK_FALSE(row_of("null").has_value());
  CHECK(row_of("0") == 0);
  CHECK(row_of("9") == 9);
  CHECK(row_of("-1") == 9);
  CHECK_THROWS_AS(row_of("10"), Error);
  CHECK_THROWS_AS(row_of("-11"), Error);
}

}  // namespace scalecalc
