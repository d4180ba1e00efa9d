#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "scalecalc/network.hpp"
#include "temporary_folder.hpp"

using namespace scalecalc;

namespace {

/// The error of a text, as "WHERE | MESSAGE | HINT".
std::string error_of(const std::string& text) {
  try {
    parse_model(text, "m.toml");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.where() + " | " + error.message() + " | " + error.hint();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

const std::string full = R"toml([model]
kind = "transformer"            # transformer | mlp
layers = 12                     # blocks
width = 256
heads = 4
kv_heads = 4
ffn = 1024
vocab = 64
sequence = 24
batch = 3
causal = true
activation = "relu"
gated = false
bias = true
norm_affine = true
norm = "rmsnorm"
norm_eps = 1e-5
placement = "res-post"
alpha = "(2*N)^(1/2)"
lambda = 0.25
attention_scale = "1/head_width"
dropout = 0.0
optimizer = "lion"
[init]
scheme = "xavier"
distribution = "uniform"
names = "hf-gpt2"
bias_variance = 0.05
gain = { q = 1, k = 1, v = "lambda", o = "lambda", ffn_in = "lambda", ffn_out = "2*lambda", head = 0.5 }
[input]
kind = "gaussian"
second = 2.0
cross = 0.1
[loss]
kind = "cross-entropy"
reduction = "mean"
)toml";

struct TemporaryFile {
  testing::TemporaryFolder folder;
  std::filesystem::path path;
  explicit TemporaryFile(const std::string& text, const std::string& name = "model.toml")
      : path(folder / name) {
    std::ofstream(path, std::ios::binary) << text;
  }
};

}  // namespace

TEST_CASE("every key of a model file is read") {
  const ModelSpec spec = parse_model(full, "m.toml");
  CHECK(spec.kind == ModelSpec::Kind::transformer);
  CHECK(spec.layers == 12);
  CHECK(spec.width == 256);
  CHECK(spec.heads == 4);
  CHECK(spec.ffn == 1024);
  CHECK(spec.vocab == 64);
  CHECK(spec.sequence == 24);
  CHECK(spec.batch == 3);
  CHECK(spec.causal);
  CHECK(spec.activation == "relu");
  CHECK(spec.bias);
  CHECK(spec.norm_affine);
  CHECK(spec.norm == NormKind::rmsnorm);
  CHECK(spec.norm_eps == 1e-5);
  CHECK(spec.placement == Placement::res_post);
  CHECK(spec.alpha.value() == parse("(2*N)^(1/2)"));
  CHECK(spec.lambda.value() == parse("1/4"));
  CHECK(spec.attention_scale == parse("1/head_width"));
  CHECK(spec.optimizer == "lion");
  CHECK(spec.init.scheme == "xavier");
  CHECK(spec.init.distribution == Distribution::uniform);
  CHECK(spec.init.bias_variance == 0.05);
  CHECK(spec.init.gain.size() == 7);
  CHECK(spec.init.gain.at("ffn_out") == parse("2*lambda"));
  CHECK(spec.init.gain.at("head") == parse("1/2"));
  CHECK(spec.input.kind == InputKind::gaussian);
  CHECK(spec.input.second == 2.0);
  CHECK(spec.input.cross == 0.1);
  CHECK(spec.reduction == Reduction::mean);
  CHECK(build_network(spec).layers.size() == 2 * 12 + 2);
}

TEST_CASE("keys of decoders, gates and other losses are read") {
  const ModelSpec spec = parse_model(
      "[model]\nheads = 4\nkv_heads = 2\ngated = true\nqk_norm = true\ncross_attention = true\n"
      "residual_attention = true\n"
      "dropout = 0.1\nattention_dropout = 0.2\nntk = true\nplacement = \"branchnorm\"\nramp = 0.5\n"
      "[input]\nkind = \"tokens\"\nzipf = 1.2\npositions = 0.3\n"
      "[memory]\nsequence = 7\nsecond = 2\ncross = 0.5\n"
      "[loss]\nkind = \"mse\"\ntarget_second = 3\n",
      "m.toml");
  CHECK(spec.kv_heads == 2);
  CHECK(spec.gated);
  CHECK(spec.qk_norm);
  CHECK(spec.residual_attention);
  CHECK(spec.cross_attention);
  CHECK(spec.dropout == 0.1);
  CHECK(spec.attention_dropout == 0.2);
  CHECK(spec.ntk);
  CHECK(spec.placement == Placement::branchnorm);
  CHECK(spec.ramp == 0.5);
  CHECK(spec.input.zipf == 1.2);
  CHECK(spec.input.positions == 0.3);
  CHECK(spec.memory.sequence == 7);
  CHECK(spec.memory.second == 2);
  CHECK(spec.memory.cross == 0.5);
  CHECK(spec.loss == Loss::mse);
  CHECK(spec.target_second == 3);
  contains(error_of("[model]\nkv_heads = 3"),
           "m.toml:2:1 | [attention] kv_heads must divide heads");
  contains(error_of("[model]\n[memory]\nsequence = 3"), "m.toml:2:2 | [memory] is for cross");
  contains(error_of("[model]\n[memory]\nsequnce = 3"), "m.toml:3:1 | unknown key 'sequnce'");
  contains(error_of("[model]\nkind = \"mlp\"\n[memory]\nsequence = 3"),
           "m.toml:3:2 | [memory] does not belong to kind = \"mlp\"");
  contains(error_of("[model]\n[loss]\ntarget_second = 3"), "m.toml:3:1 | target_second belongs");
  contains(error_of("[model]\ncross_attention = true\n[memory]\ncross = 2"),
           "m.toml:4:1 | cross must be from 0 to second = 1, got 2");
  contains(error_of("[model]\nlayers = 1000000000"),
           "m.toml:2:1 | layers must be from 1 to 1000000");
  contains(error_of("[model]\npreset = \"gpt2\""), "m.toml:2:1 | unknown key 'preset'");
}

TEST_CASE("numbers are taken exactly as written") {
  CHECK(parse_model("[model]\nalpha = 0.1", "m").alpha.value() == parse("1/10"));
  CHECK(parse_model("[model]\nalpha = 1e-3", "m").alpha.value() == parse("1/1000"));
  CHECK(parse_model("[model]\nlambda = 3", "m").lambda.value() == Expr(3));
  CHECK_FALSE(parse_model("[model]\nalpha = \"auto\"\nlambda = \"auto\"", "m").alpha.has_value());
}

TEST_CASE("an mlp has its own keys and defaults") {
  const ModelSpec spec = parse_model(
      "[model]\nlayers = 30\nclasses = 10\nfeatures = 7\nkind = \"mlp\"\nactivation = \"relu\"\n"
      "[init]\nweight_variance = 2.0\nbias_variance = 0.05\ngain = { linear = \"1/N\" }\n",
      "m.toml");
  CHECK(spec.kind == ModelSpec::Kind::mlp);
  CHECK(spec.placement == Placement::none);
  CHECK(spec.norm == NormKind::none);
  CHECK(spec.layers == 30);
  CHECK(spec.vocab == 10);
  CHECK(spec.features == 7);
  CHECK(spec.bias);
  CHECK(spec.init.scheme == "weight_variance");
  CHECK(spec.init.weight_variance == 2.0);
}

TEST_CASE("an empty [model] is the default transformer") {
  const ModelSpec spec = parse_model("[model]", "m");
  CHECK(spec.kind == ModelSpec::Kind::transformer);
  CHECK(spec.placement == Placement::post);
}

TEST_CASE("defaults that follow from the scheme") {
  CHECK(parse_model("[model]\n[init]\nscheme = \"bert\"", "m").init.distribution ==
        Distribution::truncated_normal);
  CHECK(parse_model("[model]\n[init]\nscheme = \"bert\"\ndistribution = \"normal\"", "m")
            .init.distribution == Distribution::normal);
  CHECK(parse_model("[model]\n[init]\nscheme = \"t5\"", "m").attention_scale.is_one());
  CHECK(
      parse_model("[model]\nattention_scale = 0.5\n[init]\nscheme = \"t5\"", "m").attention_scale ==
      parse("1/2"));
  const ModelSpec spec = parse_model("[model]\n[init]\nscheme = { std = 0.02 }", "m");
  CHECK(spec.init.scheme == "std");
  CHECK(spec.init.std == 0.02);
}

TEST_CASE("a wrong key or section is named with the nearest") {
  contains(error_of("[model]\ndropout_place = \"brnch\""),
           "m.toml:2:1 | unknown place of dropout 'brnch' | did you mean 'branch'");
  contains(error_of("[model]\ndropout_place = \"input+branch+input\""),
           "m.toml:2:1 | place of dropout 'input' is given twice");
  contains(error_of("[model]\ndropout_place = \"input+\""),
           "m.toml:2:1 | unknown place of dropout ''");
  contains(error_of("[model]\nkind = \"mlp\"\ndropout_place = \"activation\""),
           "m.toml:3:1 | a branch of an mlp ends in its activation");
  contains(error_of("[model]\nkind = \"layers\"\n[[layer]]\ntype = \"dropout\"\nrate = 0.1\n"
                    "per_sample = true\n"),
           "whole samples are dropped at the end of a branch alone");
  contains(error_of("[model]\nplacement = \"resi-dual\"\ndropout_place = \"stream\""),
           "m.toml:3:1 | placement resi-dual has two streams");
  contains(error_of("[model]\nlayer = 3"), "m.toml:2:1 | unknown key 'layer'");
  contains(error_of("[model]\nlayer = 3"), "layers");
  contains(error_of("[model]\n\n  widht = 3"), "m.toml:3:3 | unknown key 'widht'");
  contains(error_of("[modle]\nlayers = 3"), "m.toml:1:2 | unknown section 'modle'");
  contains(error_of("[model]\n[init]\nsheme = \"he\""), "m.toml:3:1 | unknown key 'sheme'");
  contains(error_of("[model]\n[input]\nsecnd = 1"), "m.toml:3:1 | unknown key 'secnd'");
  contains(error_of("[model]\n[loss]\nkid = 1"), "m.toml:3:1 | unknown key 'kid'");
  contains(error_of("[model]\n[init]\ngain = { q = 1, vv = 2 }"),
           "m.toml:3:17 | unknown role 'vv'");
  contains(error_of("[model]\n[init]\nscheme = { sdt = 2 }"), "m.toml:3:12 | unknown key 'sdt'");
  contains(error_of("layers = 3"), "m.toml:1:1 | unknown section 'layers'");
}

TEST_CASE("a key of the other kind is told from a misspelt one") {
  contains(error_of("[model]\nkind = \"mlp\"\nheads = 3"),
           "m.toml:3:1 | key 'heads' does not belong to kind = \"mlp\"");
  contains(error_of("[model]\nfeatures = 3"),
           "m.toml:2:1 | key 'features' does not belong to kind = \"transformer\"");
}

TEST_CASE("a wrong type says what came and what was expected") {
  contains(error_of("[model]\nlayers = \"12\""),
           "m.toml:2:1 | layers must be an integer, got a string | for example layers = 12");
  contains(error_of("[model]\nlayers = 12.5"), "layers must be an integer, got a number with");
  contains(error_of("[model]\ncausal = 1"), "causal must be true or false, got an integer");
  contains(error_of("[model]\nactivation = 3"), "activation must be a string, got an integer");
  contains(error_of("[model]\nnorm_eps = \"a\""), "norm_eps must be a number, got a string");
  contains(error_of("[model]\nalpha = true"), "alpha must be a number or a formula, got a boolean");
  contains(error_of("[model]\nalpha = [1]"), "alpha must be a number or a formula, got an array");
  contains(error_of("[model]\nalpha = 1979-05-27"), "got a date");
  contains(error_of("model = 3"), "m.toml:1:1 | model must be a table, got an integer");
  contains(error_of("[[model]]\nlayers = 3"), "model must be a table, got an array");
  contains(error_of("[model]\n[init]\nscheme = 3"), "scheme must be a string or { std = ... }");
  contains(error_of("[model]\n[init]\nscheme = {}"), "scheme is an empty table");
  contains(error_of("[model]\n[init]\ngain = 2"), "gain must be a table, got an integer");
}

TEST_CASE("values that cannot be") {
  contains(error_of("[model]\nkind = \"transfomer\""), "m.toml:2:1 | unknown kind 'transfomer'");
  contains(error_of("[model]\nlayers = 0"), "m.toml:2:1 | layers must be from 1 to 1000000, got 0");
  contains(error_of("[model]\nlayers = -3"), "got -3");
  contains(error_of("[model]\nwidth = 65\nheads = 4"),
           "m.toml:3:1 | [attention] heads must divide width (heads 4, width 65) | use width 64 "
           "or 68, or heads 5");
  contains(error_of("[model]\nwidth = 65"), "m.toml:2:1 | [attention] heads must divide width");
  contains(error_of("[model]\nnorm_eps = nan"), "m.toml:2:1 | norm_eps must be a finite number");
  contains(error_of("[model]\nalpha = inf"), "m.toml:2:1 | alpha must be a finite number, got inf");
  contains(error_of("[model]\nalpha = -1"), "m.toml:2:1 | alpha must be finite and positive");
  contains(error_of("[model]\nalpha = \"2N\""), "m.toml:2:1 | ");
  contains(error_of("[model]\nalpha = \"2*M\""), "m.toml:2:1 | ");
  contains(error_of("[model]\nalpha = \"\""), "m.toml:2:1 | ");
  for (const char* formula : {"1/0", "0/0", "log(0)", "(-1)^(1/2)", "norm(N)", "exp(N^3)"}) {
    const std::string error = error_of("[model]\nalpha = \"" + std::string(formula) + "\"");
    contains(error, "m.toml:2:1 | ");
    CHECK_FALSE(error.ends_with("| "));
  }
  contains(error_of("[model]\nplacement = \"posts\""), "m.toml:2:1 | unknown placement 'posts'");
  contains(error_of("[model]\nnorm = \"none\""), "m.toml:2:1 | placement post needs a norm");
  contains(error_of("[model]\nactivation = \"rellu\""), "m.toml:2:1 | unknown activation 'rellu'");
  contains(error_of("[model]\n[input]\ncross = 2"), "m.toml:3:1 | cross must be from 0 to second");
  contains(error_of("[model]\n[input]\nsecond = 0"), "m.toml:3:1 | input.second must be finite");
  contains(error_of("[model]\n[input]\nkind = \"token\""), "m.toml:3:1 | unknown input kind");
  contains(error_of("[model]\n[loss]\nreduction = \"avg\""), "m.toml:3:1 | unknown reduction");
  contains(error_of("[model]\n[init]\nscheme = \"kaiming\""), "m.toml:3:1 | unknown scheme");
  contains(error_of("[model]\n[init]\nscheme = \"std\""), "m.toml:3:1 | unknown scheme 'std'");
  contains(error_of("[model]\n[init]\nscheme = { std = -1 }"), "m.toml:3:12 | init.scheme.std");
  contains(error_of("[model]\n[init]\ndistribution = \"gauss\""),
           "m.toml:3:1 | unknown distribution");
  contains(error_of("[model]\n[init]\ngain = { q = -1 }"), "m.toml:3:10 | init.gain.q must be");
  contains(error_of("[model]\nbias = false\n[init]\nbias_variance = 1"),
           "m.toml:4:1 | bias_variance is given but");
  for (const char* order :
       {"weight_variance = 1\nscheme = \"he\"", "scheme = \"he\"\nweight_variance = 1"})
    contains(error_of(std::string("[model]\n[init]\n") + order),
             "weight_variance and scheme are both given");
}

TEST_CASE("words of the head and of biases that contradict") {
  contains(error_of("[model]\ntie_head = true"), "m.toml:2:1 | tie_head shares the embedding's");
  const std::string tokens = "\n[input]\nkind = \"tokens\"";
  contains(error_of("[model]\ntie_head = true\nntk = true" + tokens), "m.toml:2:1 | ntk gives");
  contains(error_of("[model]\ntie_head = true\nvocab = 1" + tokens), "m.toml:3:1 | tie_head needs");
  contains(error_of("[model]\nplacement = \"none\"\nnorm = \"none\"\nhead_transform = true"),
           "m.toml:4:1 | head_transform ends in a norm");
  contains(error_of("[model]\nkind = \"mlp\"\ntie_head = true"), "kind = \"mlp\"");
  contains(error_of("[model]\nbias = true\nffn_bias = 1"), "ffn_bias must be");
}

TEST_CASE("a base is what a model starts from") {
  const ModelSpec preset = find_model("gpt2");
  ModelSpec spec = parse_model("[model]\nbase = \"gpt2\"\nlayers = 3", "m.toml");
  CHECK(spec.layers == 3);
  spec.layers = preset.layers;
  CHECK(model_text(spec) == model_text(preset));
  CHECK(parse_model("[model]\nbase = \"gpt2\"\n[init]\nscheme = { std = 0.1 }", "m.toml")
            .init.scheme == "std");
  const TemporaryFile file("[model]\nbase = \"llama\"\nwidth = 128\nheads = 8\nkv_heads = 8\n");
  const std::string name = file.path.filename().string();
  const auto beside = [&](const std::string& text) {
    return parse_model(text, (file.path.parent_path() / "m.toml").string());
  };
  CHECK(beside("[model]\nbase = \"" + name + "\"").width == 128);
  CHECK(beside("[model]\nbase = \"./" + name + "\"\nwidth = 64").width == 64);
  const ModelSpec list = parse_model(
      "[model]\nbase = \"resnet-v1\"\nclasses = 7\n[[layer]]\ntype = \"pool\"\n", "m.toml");
  CHECK(list.layer_list.size() == 1);
}

TEST_CASE("bases that cannot be") {
  contains(error_of("[model]\nbase = \"gpt3\""),
           "m.toml:2:1 | unknown preset or model file 'gpt3'");
  contains(error_of("[model]\nbase = 3"), "m.toml:2:1 | base must be a string");
  contains(error_of("[model]\nbase = \"\""), "unknown preset or model file");
  contains(error_of("[model]\nbase = \"no/such.toml\""), "no such model file");
  contains(error_of("[model]\nbase = \"config.json\""), "a config cannot be a base here");
  contains(error_of("[model]\nbase = \"gpt2\"\nkind = \"mlp\""),
           "kind is \"mlp\", and that of the base \"transformer\"");
  contains(error_of("[model]\nbase = \"gpt2\"\nheads = 5"), "m.toml:3:1 | [attention] heads must");
  const TemporaryFile file("");
  std::ofstream(file.path) << "[model]\nbase = \"" << file.path.filename().string() << "\"\n";
  CHECK_THROWS_WITH_AS(read_model(file.path.string()), doctest::Contains("is its own base"), Error);
  const std::filesystem::path folder = file.path.parent_path();
  std::vector<std::filesystem::path> chain;
  for (int i = 0; i < 12; ++i)
    chain.push_back(folder / (file.path.filename().string() + std::to_string(i)));
  for (std::size_t i = 0; i < chain.size(); ++i)
    std::ofstream(chain[i]) << "[model]\nbase = \""
                            << (i + 1 < chain.size() ? "./" + chain[i + 1].filename().string()
                                                     : std::string("gpt2"))
                            << "\"\n";
  CHECK_THROWS_WITH_AS(read_model(chain[0].string()), doctest::Contains("more than 8 bases"),
                       Error);
  CHECK(read_model(chain[5].string()).layers == find_model("gpt2").layers);
  for (const auto& path : chain) std::filesystem::remove(path);
}

TEST_CASE("texts that are no model") {
  contains(error_of(""), "m.toml | an empty model file");
  contains(error_of("  \n# only a comment\n"), "m.toml | an empty model file");
  contains(error_of("\xEF\xBB\xBF"), "m.toml | an empty model file");
  contains(error_of("[init]\nscheme = \"he\""), "m.toml | a model file without [model]");
  contains(error_of("[model\nlayers = 3"), "m.toml:1:");
  contains(error_of("[&odel]"), "m.toml:1:2 | not valid TOML");
  contains(error_of("[[&odel]]"), "m.toml:1:3 | not valid TOML");
  contains(error_of("[model]\nlayers = = 3"), "m.toml:2:10 | not valid TOML: ");
  contains(error_of("[model]\nlayers = 3\nlayers = 4"), "m.toml:3:");
  contains(error_of("[model]\nactivation = \"\xFF\""), "m.toml:2:15 | a model file must be UTF-8");
  contains(error_of("[model]\n# \xC3\xA9 \xED\xA0\x80"), "m.toml:2:5 | a model file must be UTF-8");
  contains(error_of(std::string("[model]\n\0", 9)), "m.toml:2:1 | not valid TOML");
  contains(error_of(std::string("PK\x03\x04\x00\x00", 6)), "m.toml | what torch.save writes");
  contains(error_of(std::string((1 << 20) + 1, ' ')),
           "m.toml | a model file may have at most 1048576");
  contains(error_of("a = " + std::string(100000, '[')), "not valid TOML");
  contains(error_of("[model]\nalpha = \"" + std::string(5000, '(') + "\""), "m.toml:2:1 | ");
}

TEST_CASE("keys of many parts are refused before anything calls itself for each") {
  std::string deep = "a";
  for (int i = 0; i < 300'000; ++i) deep += ".a";
  for (const std::string& text :
       {deep + " = 1\n", "[" + deep + "]\n", "[[" + deep + "]]\n", "x = { " + deep + " = 1 }\n",
        std::string("\"a\" . 'a' .a.a.a.a.a.a.a = 1\n"), "s = 'it''s'\n" + deep + " = 1\n",
        "s = \"\\\"\"\n" + deep + " = 1\n"})
    contains(error_of("[model]\n" + text), "a key of more than ");
  // As many in each other as there can be: a header, and inline tables of the longest keys.
  std::string inner = "1", header = "a";
  for (int i = 0; i < 250; ++i) inner = "{ a.b.c.d.e.f.g.h = " + inner + " }";
  for (int i = 1; i < 256; ++i) header += ".a";
  contains(error_of("[" + header + "]\nx = " + inner + "\n"), "unknown section 'a'");
  contains(error_of("[model]\n\na.b.c.d.e.f.g.h.i = 1\n"), "m.toml:3 | a key of more than 8 parts");
  // A text that ends within a string, or behind a backslash of it.
  for (const char* open : {"s = \"", "s = \"\\", "s = '''", "s = \"\"\"\\", "s = '"})
    contains(error_of(std::string("[model]\n") + open), "not valid TOML");
  // Dots of texts, comments and numbers are no parts.
  const std::string dots(300, '.');
  CHECK(error_of("[model] # " + dots + "\nkind = \"mlp\"\n") == "no error");
  for (const std::string& text : {"\"" + dots + "\"", "'" + dots + "'", "'''\n" + dots + "'''",
                                  "\"\"\"\n\\\"\"\"" + dots + "\"\"\""})
    contains(error_of("[model]\nactivation = " + text + "\n"), "m.toml:2");
}

TEST_CASE("foreign text in a message is cut and on one line") {
  const std::string error = error_of("[model]\n" + std::string(500, 'k') + " = 1");
  CHECK(error.size() < 800);
  const std::string line = error_of("[model]\n\"a\\nb\" = 1");
  CHECK(line.find('\n') == std::string::npos);
  const std::string typed = error_of("[model]\nactivation = \"a\\u0007\\nb\"");
  CHECK(typed.find('\n') == std::string::npos);
}

// toml++ takes any letter between U+00A1 and U+0499 outside strings for impossible.
TEST_CASE("a key of other letters than ASCII is one clear error") {
  for (const char* key : {"b\u00e9ta", "asse\u03cdt", "\u0416", "\u2003a"}) {
    CAPTURE(key);
    const std::string text = "[model]\nkind = \"mlp\"\n" + std::string(key) + " = 1\n";
    CHECK_THROWS_AS(parse_model(text, "letters"), Error);
  }
  CHECK_NOTHROW(parse_model("# \u00e9\n[model]\nkind = \"mlp\"\n", "letters"));
}

TEST_CASE("a file is read, and what cannot be read is said") {
  const TemporaryFile file(full);
  CHECK(read_model(file.path.string()).width == 256);
  const auto message = [](const std::string& path) {
    try {
      read_model(path);
    } catch (const Error& error) {
      CHECK(error.exit_code() == 2);
      return error.message() + " | " + error.where();
    }
    return std::string("no error");
  };
  CHECK(message("no/such/file.toml") == "no such model file | no/such/file.toml");
  CHECK(message("") == "no such model file | ");
  const std::string directory = std::filesystem::temp_directory_path().string();
  CHECK(message(directory).starts_with("a directory is not a model file | "));
  CHECK(message(std::string(10000, 'x')).starts_with("cannot read the model file: "));
  CHECK(message("/dev/null").starts_with("an empty model file"));
  CHECK(message("/dev/zero").starts_with("a model file may have at most 1048576 bytes"));
  const TemporaryFile large(std::string((1 << 20) + 1, '#'), "large.toml");
  CHECK(message(large.path.string()).starts_with("a model file may have at most 1048576 bytes"));
  std::filesystem::resize_file(large.path, 100'000'000);
  CHECK(message(large.path.string()).starts_with("a model file may have at most 1048576 bytes"));
  const TemporaryFile wrong("[model]\nlayers = true", "wrong.toml");
  CHECK(message(wrong.path.string()) ==
        "layers must be an integer, got a boolean | " + wrong.path.string() + ":2:1");
}
