#include "scalecalc/export.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "export/literals.hpp"
#include "export/rules.hpp"
#include "export/settings.hpp"
#include "scalecalc/error.hpp"

using namespace scalecalc;
using namespace scalecalc::export_room;

namespace {

NamedPlan plan_of(const std::string& preset_name, std::optional<Target> target,
                  const std::string& names = {}) {
  return named_plan(find_model(preset_name), preset_name, target, names);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::vector<Target> all_targets = {Target::pytorch, Target::flax,     Target::keras,
                                         Target::hf,      Target::megatron, Target::c};

}  // namespace

TEST_CASE("every target writes every preset that it has words for") {
  for (const Preset& preset : presets()) {
    CAPTURE(preset.name);
    for (const Target target : {Target::pytorch, Target::flax, Target::keras, Target::c})
      CHECK(export_text(plan_of(preset.name, target), target).size() > 1000);
    const ModelSpec spec = find_model(preset.name);
    if (spec.kind == ModelSpec::Kind::transformer && !spec.encoder_decoder) {
      CHECK(contains(export_text(plan_of(preset.name, Target::megatron), Target::megatron),
                     "--init-method-std "));
    } else {
      CHECK_THROWS_AS(export_text(plan_of(preset.name, Target::megatron), Target::megatron), Error);
    }
  }
}

TEST_CASE("a model's words cannot leave the comment or the string they are in") {
  const std::string hostile = "x\"\"\"\nimport os\nos.system('x')\n*/ int main; // \\";
  ModelSpec spec = find_model("gpt2");
  spec.layers = 1;
  for (const Target target : all_targets) {
    const std::string text = export_text(named_plan(spec, hostile, target), target);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      // Words of the model's name stand in comments of Python, in a string of JSON, nowhere in C.
      if (!contains(line, "import os")) continue;
      CHECK(target != Target::c);
      CHECK((line.front() == '#' || (target == Target::hf && contains(line, "\"model\": \""))));
    }
    if (target == Target::c) CHECK_FALSE(contains(text, "*/ int main"));
  }
  CHECK(string_literal("a\"b\\c\nd\x01\xC3\xA9") == "\"a\\\"b\\\\c?d???\"");
  CHECK(comment_text("a\nb\x7f") == "a?b?");
  CHECK(identifier("9-a/b.toml") == "_9_a_b_toml");
}

TEST_CASE("an activation's own words stay inside the flags' comments") {
  ModelSpec spec = find_model("pre-ln-12");
  spec.activation = "x*sigmoid(x)";
  const std::string text = export_text(named_plan(spec, "own", Target::megatron), Target::megatron);
  CHECK(contains(text, "#   activation: its flags know gelu and SwiGLU, this model has x*sigmoid"));
}

TEST_CASE("numbers read back, and are numbers of floating point") {
  CHECK(number_literal(1) == "1.0");
  CHECK(number_literal(0.1) == "0.1");
  CHECK(number_literal(1e-7) == "1e-07");
  for (const double value : {1.0 / 3, 3e-300, 0.02, 12345678.9, 1e300})
    CHECK(std::stod(number_literal(value)) == value);
}

TEST_CASE("tensors that start alike are one rule, others are told apart by their indices") {
  const NamedPlan plan = plan_of("gpt2", Target::pytorch);
  const std::vector<Rule> rules = rules_of(code_plan(plan));
  std::size_t tensors = 0;
  for (const Rule& rule : rules) {
    tensors += rule.tensors;
    CHECK(rule.indices.empty());
  }
  CHECK(tensors == plan.named.tensors.size());
  CHECK(rules.size() == 17);  // 12 of a block, 2 embeddings, 2 of the last norm, the head

  ModelSpec mlp = find_model("mlp-relu");
  mlp.features = 7;
  int told_apart = 0;
  for (const Rule& rule : rules_of(code_plan(named_plan(mlp, "mlp", Target::pytorch))))
    if (!rule.indices.empty()) told_apart += 1;
  CHECK(told_apart == 2);  // the first matrix has another shape
}

TEST_CASE("GPT-2's own code is told by its configuration all but the positions") {
  const std::string text = export_text(plan_of("gpt2", Target::hf), Target::hf);
  CHECK(contains(text, "\"initializer_range\": 0.02"));
  CHECK(contains(text, "embedding: planned std 0.01"));
  CHECK_FALSE(contains(text, "ffn_out"));
}

TEST_CASE("what settings cannot say is listed") {
  ModelSpec spec = find_model("deepnet-encoder");
  spec.alpha = Expr(3);
  const std::string text =
      export_text(named_plan(spec, "deepnet", Target::megatron), Target::megatron);
  CHECK(contains(text, "placement: its layer is pre, this model is post"));
  CHECK(contains(text, "skip of block[*].attn is 3.0"));
  CHECK(contains(text, "v: planned std"));
}

TEST_CASE("where dropout stands is told, or listed") {
  ModelSpec spec = find_model("gpt2");
  const auto text_of = [&spec](const char* naming, Target target) {
    spec.init.names = naming;
    return export_text(named_plan(spec, "own", target), target);
  };
  CHECK(contains(text_of("hf-gpt2", Target::hf), "\"resid_pdrop\": 0.1"));
  CHECK(contains(text_of("hf-gpt2", Target::hf), "\"embd_pdrop\": 0.1"));
  spec.dropout_place = {};
  CHECK(contains(text_of("hf-gpt2", Target::hf), "\"resid_pdrop\": 0.1"));
  CHECK(contains(text_of("hf-gpt2", Target::hf), "\"embd_pdrop\": 0.0"));
  CHECK(contains(text_of("hf-llama", Target::hf),
                 "its code drops at no place, this model at branch"));
  spec.dropout_place = {.input = true, .branch = false};
  CHECK(contains(text_of("hf-gpt2", Target::hf), "\"resid_pdrop\": 0.0"));
  CHECK(contains(text_of("hf-gpt2", Target::hf), "\"embd_pdrop\": 0.1"));
  CHECK_FALSE(contains(text_of("hf-gpt2", Target::hf), "dropout_place"));
  CHECK(contains(text_of("hf-t5", Target::hf),
                 "its code drops at input+branch+activation, this model at input"));
  spec.dropout_place = {.input = true};
  for (const char* naming : {"hf-bert", "hf-vit"})
    CHECK_FALSE(contains(text_of(naming, Target::hf), "dropout_place"));
  CHECK_FALSE(contains(text_of("hf-gpt2", Target::megatron), "dropout_place"));
  spec.dropout_place = {.stream = true};
  CHECK(contains(text_of("hf-gpt2", Target::hf),
                 "its code drops at branch, this model at branch+stream"));
  CHECK(contains(text_of("hf-gpt2", Target::megatron),
                 "its code drops at input+branch, this model at branch+stream"));
  spec.dropout = 0;
  CHECK_FALSE(contains(text_of("hf-gpt2", Target::megatron), "dropout_place"));
}

TEST_CASE("rotary positions are told, or listed") {
  ModelSpec spec = find_model("llama");
  const auto text_of = [&spec](const char* naming, Target target) {
    spec.init.names = naming;
    return export_text(named_plan(spec, "own", target), target);
  };
  const std::string of_llama = text_of("hf-llama", Target::hf);
  CHECK(contains(of_llama, "\"rope_theta\": 10000.0"));
  CHECK_FALSE(contains(of_llama, "rotary"));
  CHECK(contains(text_of("hf-gpt2", Target::hf), "it has no rotary positions"));
  CHECK(contains(text_of("", Target::megatron),
                 "--position-embedding-type rope --rotary-base 10000 --rotary-percent 1.0\n"));
  spec.rotary_fraction = 0.25;
  CHECK(contains(text_of("hf-llama", Target::hf), "it turns all of a head, this model 0.25 of it"));
  CHECK(contains(text_of("", Target::megatron), "--rotary-percent 0.25\n"));
  spec.rotary_fraction = 1;
  spec.rotary = {.scaling = RotaryScaling::llama3, .factor = 8, .original = 64};
  const std::string slowed = text_of("hf-llama", Target::hf);
  for (const char* told :
       {"\"rope_type\": \"llama3\"", "\"factor\": 8.0", "\"low_freq_factor\": 1.0",
        "\"high_freq_factor\": 4.0", "\"original_max_position_embeddings\": 64"})
    CHECK(contains(slowed, told));
  CHECK(contains(text_of("", Target::megatron), "this model's are slowed by llama3"));
  spec.rotary = {.scaling = RotaryScaling::dynamic, .factor = 2, .original = 64};
  CHECK(contains(text_of("hf-llama", Target::hf), "\"max_position_embeddings\": 64"));
  spec.rotary = {.scaling = RotaryScaling::yarn, .factor = 2, .original = 64, .attention = 1.25};
  CHECK(contains(text_of("hf-llama", Target::hf), "\"attention_factor\": 1.25"));
  spec.rotary = {};
  spec.window = 4;
  spec.rotary_local_base = 100;
  CHECK(contains(text_of("hf-llama", Target::hf), "this model by base 100 in those with a window"));
  spec.window = 0;
  spec.rotary_local_base = 0;
  spec.rotary_base = 12.5;
  CHECK(contains(text_of("", Target::megatron), "its flag takes whole numbers"));
  spec.rotary_base = 0;
  spec.rotary_fraction = 1;
  CHECK(contains(text_of("hf-llama", Target::hf), "its queries and keys turn by their positions"));
  CHECK_FALSE(contains(text_of("", Target::megatron), "rotary"));
}

TEST_CASE("biases of scores are listed where a target has none") {
  ModelSpec spec = find_model("llama");
  const auto text_of = [&spec](const char* naming, Target target) {
    spec.init.names = naming;
    return export_text(named_plan(spec, "own", target), target);
  };
  spec.rotary_base = 0;
  CHECK_FALSE(contains(text_of("hf-llama", Target::hf), "alibi"));
  spec.causal = true;
  spec.alibi = 1;
  CHECK(contains(text_of("hf-llama", Target::hf), "alibi: its scores have no biases"));
  CHECK(contains(text_of("", Target::megatron), "alibi: its scores have no biases"));
  CHECK_FALSE(contains(text_of("", Target::megatron), "window"));
  spec.window = 8;
  CHECK(contains(text_of("hf-llama", Target::hf), "attend to all before them, this model's to 8"));
  CHECK(contains(text_of("", Target::megatron), "attend to all before them, this model's to 8"));
}

TEST_CASE("class tokens, pools, scales of branches and gains of 1 + w are listed") {
  ModelSpec spec = find_model("vit-b");
  spec.input.patch = 768;
  spec.class_tokens = 1;
  spec.pool = Pooling::class_token;
  const auto text_of = [&spec](const char* naming, Target target) {
    spec.init.names = naming;
    return export_text(named_plan(spec, "own", target), target);
  };
  CHECK_FALSE(contains(text_of("hf-vit", Target::hf), "class_tokens: "));
  CHECK_FALSE(contains(text_of("hf-vit", Target::hf), "pool: "));
  for (const auto& [naming, target] : {std::pair{"hf-gpt2", Target::hf}, {"", Target::megatron}}) {
    CHECK(contains(text_of(naming, target), "patches behind 1 class tokens"));
    CHECK(contains(text_of(naming, target), "this model's one vector"));
  }
  spec.layer_scale = 0.5;
  spec.gain_offset = true;
  spec.norm_scale = parse("l^(-1/2)");
  for (const auto& [naming, target] : {std::pair{"hf-vit", Target::hf}, {"", Target::megatron}}) {
    CHECK(contains(text_of(naming, target), "multiplies branches by 0.5"));
    CHECK(contains(text_of(naming, target), "gain_offset: "));
    CHECK(contains(text_of(naming, target), "the norms of block l by l^(-1/2)"));
  }
}

TEST_CASE("caps of scores and of logits are listed, each with its value") {
  ModelSpec spec = find_model("gpt2");
  const auto text = [&spec](Target target) {
    return export_text(named_plan(spec, "own", target, "hf-gpt2"), target);
  };
  for (const Target target : {Target::hf, Target::megatron})
    CHECK_FALSE(contains(text(target), "softcap"));
  spec.attention_softcap = 50;
  for (const Target target : {Target::hf, Target::megatron}) {
    CHECK(contains(text(target), "attention_softcap: it has none, this model caps at 50"));
    CHECK_FALSE(contains(text(target), "logit_softcap"));
  }
  spec.logit_softcap = 30;
  for (const Target target : {Target::hf, Target::megatron})
    CHECK(contains(text(target), "logit_softcap: it has none, this model caps at 30"));
}

TEST_CASE("hf needs a model whose configuration it knows") {
  CHECK_THROWS_AS(export_text(plan_of("pre-ln-12", Target::hf), Target::hf), Error);
  for (const char* names : {"hf-gpt2", "hf-bert", "hf-llama", "hf-t5", "hf-vit"})
    CHECK(contains(export_text(plan_of("pre-ln-12", Target::hf, names), Target::hf), "model_type"));
}

TEST_CASE("configurations say that their attention adds no scores") {
  ModelSpec spec = find_model("gpt2");
  const std::string line = "residual_attention: its attention adds no scores of the block before";
  const auto text = [&](Target target) {
    return export_text(named_plan(spec, "gpt2", target, "hf-gpt2"), target);
  };
  for (const Target target : {Target::hf, Target::megatron})
    CHECK_FALSE(contains(text(target), line));
  spec.residual_attention = true;
  spec.value_residual = 0.5;
  const std::string values = "value_residual: its attention reads no values of the first block";
  for (const Target target : {Target::hf, Target::megatron}) {
    CHECK(contains(text(target), line));
    CHECK(contains(text(target), values));
  }
}

TEST_CASE("configurations say what of heads and of parallel blocks they cannot") {
  ModelSpec spec = find_model("gpt2");
  const auto text = [&](const char* naming, Target target) {
    return export_text(named_plan(spec, "own", target, naming), target);
  };
  CHECK_FALSE(contains(text("hf-gpt2", Target::hf), "head_width"));
  CHECK_FALSE(contains(text("hf-llama", Target::hf), "head_dim"));
  spec.head_width = 32;
  CHECK(contains(text("hf-gpt2", Target::hf), "head_width: its heads share out the width"));
  CHECK(contains(text("hf-llama", Target::hf), "\"head_dim\": 32"));
  CHECK(contains(text("hf-t5", Target::hf), "\"d_kv\": 32"));
  CHECK_FALSE(contains(text("hf-t5", Target::hf), "relative_"));
  spec.relative_buckets = 8;
  CHECK(contains(text("hf-t5", Target::hf), "\"relative_attention_num_buckets\": 8"));
  CHECK_FALSE(contains(text("hf-t5", Target::hf), "relative_buckets: its scores have no biases"));
  CHECK(contains(text("hf-llama", Target::hf), "relative_buckets: its scores have no biases"));
  CHECK(contains(text("hf-gpt2", Target::megatron), "--kv-channels 32"));
  CHECK_FALSE(contains(text("hf-llama", Target::hf), "head_width"));
  spec.parallel = spec.branch_norms = true;
  for (const Target target : {Target::hf, Target::megatron})
    CHECK(contains(text("hf-gpt2", target), "parallel: its ffn reads the stream"));
}

TEST_CASE("trees never take the names of PyTorch's modules, unless asked") {
  CHECK(plan_of("gpt2", Target::pytorch).naming.name == "hf-gpt2");
  CHECK(plan_of("gpt2", Target::flax).naming.name == "flax");
  CHECK(plan_of("gpt2", Target::keras).naming.name == "keras");
  CHECK(plan_of("gpt2", Target::flax, "hf-gpt2").naming.name == "hf-gpt2");
  CHECK_THROWS_AS(plan_of("gpt2", Target::flax, "hf-gpt"), Error);
}

TEST_CASE("the seed stands in the text, or nowhere") {
  const NamedPlan plan = plan_of("mlp-relu", Target::pytorch);
  CHECK(contains(export_text(plan, Target::pytorch, {7, {}}), "SEED = 7\n"));
  CHECK(contains(export_text(plan, Target::pytorch), "SEED = None\n"));
}

TEST_CASE("a naming that lacks a parameter says which") {
  ModelSpec spec = find_model("gpt2");
  spec.layers = 1;
  spec.cross_attention = true;
  const NamedPlan plan = named_plan(spec, "gpt2", Target::pytorch);
  CHECK_FALSE(plan.named.unnamed.empty());
  CHECK(contains(export_text(plan, Target::pytorch), "    \"block[0].cross.q.weight\",\n"));
}

TEST_CASE("what other frameworks do not have may be absent: tied heads, shifts of RMSNorm") {
  for (const Rule& rule : rules_of(code_plan(plan_of("llama", Target::pytorch, "hf-llama"))))
    CHECK(rule.first.may_be_absent ==
          (rule.first.pattern.ends_with("norm.bias") || rule.first.pattern == "lm_head.weight"));
  for (const Rule& rule : rules_of(code_plan(plan_of("gpt2", Target::pytorch))))
    CHECK(rule.first.may_be_absent == (rule.first.pattern == "lm_head.weight"));
}
