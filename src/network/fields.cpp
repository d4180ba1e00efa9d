#include <algorithm>

#include "network/field_lists.hpp"
#include "network/parts.hpp"
#include "network/rotary.hpp"
#include "network/validate.hpp"
#include "network/weights.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc {
namespace {

using Spec = ModelSpec;
using Kind = Spec::Kind;
using Range = ModelField::Range;
using Option = ModelField::Option;

std::string known_activation(const std::string& text, const std::string& where) {
  try {
    check_activation(text);
  } catch (const Error& error) {
    throw Error(error.kind(), error.message(), where, error.hint());
  }
  return text;
}

std::vector<std::string> window_patterns() {
  return {"L", "LG", "GL", "LLLLLG"};
}

std::string known_pattern(const std::string& name, const std::string& where) {
  if (!name.empty() && name.find_first_not_of("LG") == std::string::npos) return name;
  throw unknown_name("window_pattern of letters L and G", name, window_patterns(), where);
}

std::vector<ModelField> shape_fields() {
  return {
      Field("model", "kind", all, &Spec::kind)
          .option(Option::none, "", "\"mlp\"", "transformer, mlp or layers"),
      Field("model", "layers", all, &Spec::layers)
          .option(Option::command, "N", "12", "blocks, instead of the model's"),
      Field("model", "width", transformer | mlp, &Spec::width)
          .option(Option::block, "D", "256", "features of the stream"),
      Field("model", "heads", transformer, &Spec::heads)
          .option(Option::block, "H", "4",
                  "attention heads, a divisor of the width unless --head-width is given"),
      Field("model", "kv_heads", transformer, &Spec::kv_heads)
          .range(Range::size_or_none)
          .option(Option::detail, "H", "2",
                  "heads of k and v, a divisor of the heads (default: all)")
          .written_if([](const Spec& spec) { return spec.kv_heads != 0; }),
      Field("model", "head_width", transformer, &Spec::head_width)
          .named("head_width", "head_dim")
          .range(Range::size_or_none)
          .option(Option::detail, "D", "128", "features of a head (default: width/heads)")
          .written_if([](const Spec& spec) { return spec.head_width != 0; }),
      Field("model", "ffn", transformer, &Spec::ffn)
          .option(Option::block, "F", "1024", "width inside the ffn (default 4 x width)"),
      Field("model", "vocab", transformer, &Spec::vocab)
          .option(Option::block, "V", "64", "classes of the head"),
      Field("model", "features", mlp | layers, &Spec::features)
          .option(Option::detail, "D", "64", "of an mlp's input"),
      Field("model", "classes", mlp, &Spec::vocab)
          .named("classes", "vocab")
          .option(Option::detail, "C", "10", "of an mlp's head; --vocab is the same"),
      Field("model", "classes", layers, &Spec::vocab)
          .named("classes", "vocab")
          .range(Range::size_or_none)
          .option(Option::none, "C", "10", "of a head behind the list (default: the last layer's)")
          .written_if([](const Spec& spec) { return spec.vocab != 0; }),
      Field("model", "sequence", all, &Spec::sequence)
          .option(Option::block, "T", "24", "tokens of a sequence"),
      Field("model", "height", layers, &Spec::height)
          .range(Range::size_or_none)
          .option(Option::none, "P", "32", "of an image of `sequence` pixels (default: a square)")
          .written_if([](const Spec& spec) { return spec.height != 0; }),
      Field("model", "batch", all, &Spec::batch).option(Option::block, "B", "1", "sequences"),
  };
}

/// A flag of its own where it is given, else what follows from wider ones.
ModelField bias_field(const char* key, std::optional<bool> Spec::*member,
                      bool (*follows)(const Biases&), const char* help) {
  ModelField field;
  field.section = "model";
  field.key = field.name = key;
  field.kinds = transformer;
  field.type = ModelField::Type::flag;
  field.option = Option::detail;
  field.help = help;
  field.is_written = [member](const Spec& spec) { return (spec.*member).has_value(); };
  field.get = [follows](const Spec& spec) -> FieldValue { return follows(biases_of(spec)); };
  field.assign = [member](Spec& spec, const FieldValue& value, const std::string&) {
    spec.*member = std::get<bool>(value);
  };
  return field;
}

bool has_relative_bias(const Spec& spec) {
  return spec.relative_buckets != 0;
}

bool has_two_stacks(const Spec& spec) {
  return spec.encoder_decoder;
}

std::vector<ModelField> block_fields() {
  return {
      Field("model", "causal", transformer, &Spec::causal)
          .option(Option::block, "", "", "each token attends to itself and those before"),
      Field("model", "activation", all, &Spec::activation)
          .checked(known_activation, activation_names)
          .option(Option::block, "NAME", "gelu", "of the ffn"),
      Field("model", "gated", transformer, &Spec::gated)
          .option(Option::detail, "", "", "the ffn multiplies phi(gate) and in"),
      Field("model", "experts", transformer, &Spec::experts)
          .range(Range::size_or_none)
          .option(Option::detail, "E", "8",
                  "ffns of which a router chooses some for each token (default: one, no router)")
          .written_if([](const Spec& spec) { return spec.experts != 0; }),
      Field("model", "top_k", transformer, &Spec::top_k)
          .named("top_k", "num_experts_per_tok")
          .option(Option::detail, "K", "2", "experts that a token goes to (default 2)")
          .written_if([](const Spec& spec) { return spec.experts != 0; }),
      Field("model", "expert_ffn", transformer, &Spec::expert_ffn)
          .named("expert_ffn", "moe_intermediate_size")
          .range(Range::size_or_none)
          .option(Option::detail, "F", "768", "width inside an expert (default: ffn)")
          .written_if([](const Spec& spec) { return spec.expert_ffn != 0; }),
      Field("model", "norm_topk_prob", transformer, &Spec::norm_topk_prob)
          .option(Option::detail, "", "", "weights of a token's experts are divided by their sum")
          .written_if([](const Spec& spec) { return !spec.norm_topk_prob; }),
      Field("model", "shared_ffn", transformer, &Spec::shared_ffn)
          .range(Range::size_or_none)
          .option(Option::detail, "F", "5632",
                  "width inside an expert that all tokens go to (default: none)")
          .written_if([](const Spec& spec) { return spec.shared_ffn != 0; }),
      Field("model", "shared_gate", transformer, &Spec::shared_gate)
          .option(Option::detail, "", "", "sigmoid(x w) multiplies the shared expert")
          .written_if([](const Spec& spec) { return spec.shared_gate; }),
      Field("model", "qk_norm", transformer, &Spec::qk_norm)
          .option(Option::detail, "", "", "rmsnorm of q and of k in each head"),
      Field("model", "qk_norm_all", transformer, &Spec::qk_norm_all)
          .option(Option::detail, "", "", "rmsnorm of q and of k over all heads at once")
          .written_if([](const Spec& spec) { return spec.qk_norm_all; }),
  };
}

std::vector<ModelField> more_block_fields() {
  return {
      Field("model", "alibi", transformer, &Spec::alibi)
          .range(Range::not_negative)
          .option(
              Option::detail, "A", "1",
              "ALiBi: scores get -A m_h (t - s) with the published slopes m_h (default 0: none)")
          .written_if([](const Spec& spec) { return spec.alibi != 0; }),
      Field("model", "relative_buckets", transformer, &Spec::relative_buckets)
          .range(Range::size_or_none)
          .option(Option::detail, "B", "32",
                  "T5's learnt biases of scores by distance: rows of their table (default none)")
          .written_if(has_relative_bias),
      Field("model", "relative_distance", transformer, &Spec::relative_distance)
          .range(Range::size)
          .option(Option::detail, "T", "128",
                  "of these, from which on all tokens share a row (default 128)")
          .written_if(has_relative_bias),
      Field("model", "relative_std", transformer, &Spec::relative_std)
          .symbols({"N", "width", "head_width"})
          .option(Option::detail, "X", "1/width",
                  "of these, at the start, in N, width, head_width (default width^(-1/2))")
          .written_if(has_relative_bias),
      Field("model", "window", transformer, &Spec::window)
          .range(Range::size_or_none)
          .option(Option::detail, "W", "256",
                  "a token attends to the last W (default: to all before it)")
          .written_if([](const Spec& spec) { return spec.window != 0; }),
      Field("model", "window_pattern", transformer, &Spec::window_pattern)
          .checked(known_pattern, window_patterns)
          .option(Option::detail, "NAME", "LG",
                  "of blocks, over and over: L has the window, G sees all (default L)")
          .written_if([](const Spec& spec) { return spec.window_pattern != "L"; }),
      Field("model", "attention_softcap", transformer, &Spec::attention_softcap)
          .range(Range::not_negative)
          .option(Option::detail, "C", "50",
                  "scores s become C tanh(s/C) before the softmax, C from 1e-30 on (default "
                  "0: they stay)")
          .written_if([](const Spec& spec) { return spec.attention_softcap != 0; }),
      Field("model", "logit_softcap", transformer, &Spec::logit_softcap)
          .range(Range::not_negative)
          .option(Option::detail, "C", "30",
                  "logits y become C tanh(y/C) before the loss, C from 1e-30 on (default 0: "
                  "they stay)")
          .written_if([](const Spec& spec) { return spec.logit_softcap != 0; }),
      Field("model", "residual_attention", transformer, &Spec::residual_attention)
          .option(Option::detail, "", "", "adds the scores of the block before")
          .written_if([](const Spec& spec) { return spec.residual_attention; }),
      Field("model", "value_residual", transformer, &Spec::value_residual)
          .range(Range::rate)
          .option(Option::detail, "S", "0.5",
                  "values are 1 - S of a block's own and S of the first block's (default 0)")
          .written_if([](const Spec& spec) { return spec.value_residual != 0; }),
      Field("model", "parallel", transformer, &Spec::parallel)
          .option(Option::detail, "", "", "attention and ffn of a block in one sum, from one norm")
          .written_if([](const Spec& spec) { return spec.parallel; }),
      Field("model", "branch_norms", transformer, &Spec::branch_norms)
          .option(Option::detail, "", "", "of a parallel block: each branch has its own norm")
          .written_if([](const Spec& spec) { return spec.branch_norms; }),
      Field("model", "tie_head", transformer, &Spec::tie_head)
          .option(Option::detail, "", "", "the head's matrix is the embedding's, transposed")
          .written_if([](const Spec& spec) { return spec.tie_head; }),
      Field("model", "head_transform", transformer, &Spec::head_transform)
          .option(Option::detail, "", "", "a map, the activation and a norm in front of the head")
          .written_if([](const Spec& spec) { return spec.head_transform; }),
      Field("model", "class_tokens", transformer, &Spec::class_tokens)
          .range(Range::size_or_none)
          .option(
              Option::detail, "C", "1",
              "learnt vectors in front of a gaussian input, part of its sequence (default none)")
          .written_if([](const Spec& spec) { return spec.class_tokens != 0; }),
      Field("model", "pool", transformer, &Spec::pool)
          .option(Option::detail, "NAME", "class",
                  "the head reads the mean of the tokens, the first class token or the last token "
                  "(default none)")
          .written_if([](const Spec& spec) { return spec.pool != Pooling::none; }),
      Field("model", "head_classes", transformer, &Spec::head_classes)
          .range(Range::size_or_none)
          .option(Option::detail, "C", "512", "of a head whose classes are not the words")
          .written_if([](const Spec& spec) { return spec.head_classes != 0; }),
      Field("model", "cross_attention", transformer, &Spec::cross_attention)
          .option(Option::detail, "", "", "a third sublayer attends to a memory"),
      Field("model", "encoder_decoder", transformer, &Spec::encoder_decoder)
          .option(Option::detail, "", "", "two stacks: a decoder attends to what an encoder makes")
          .written_if(has_two_stacks),
      Field("model", "decoder_layers", transformer, &Spec::decoder_layers)
          .symbols({"N"})
          .option(Option::command, "M", "N/3",
                  "of two stacks, the decoder's blocks: a number, or a formula in N (default N)")
          .written_if(has_two_stacks),
      Field("model", "decoder_alpha", transformer, &Spec::decoder_alpha)
          .symbols({"N", "M", "alpha", "lambda"})
          .option(Option::detail, "X", "\"(3*M)^(1/4)\"",
                  "the decoder's alpha, in N, M, alpha, lambda, or auto (default alpha)")
          .written_if(has_two_stacks),
      Field("model", "decoder_lambda", transformer, &Spec::decoder_lambda)
          .symbols({"N", "M", "alpha", "lambda"})
          .option(Option::detail, "X", "\"(12*M)^(-1/4)\"",
                  "the decoder's lambda, likewise (default lambda)")
          .written_if(has_two_stacks),
      Field("model", "bias", all, &Spec::bias)
          .option(Option::detail, "", "", "biases exist (0 at the start), but of the head"),
      bias_field(
          "attention_bias", &Spec::attention_bias, [](const Biases& of) { return of.o; },
          "of q, k, v and o (default: as bias)"),
      bias_field(
          "qkv_bias", &Spec::qkv_bias, [](const Biases& of) { return of.qkv; },
          "of q, k and v (default: as attention_bias)"),
      bias_field(
          "k_bias", &Spec::k_bias, [](const Biases& of) { return of.k; },
          "of k (default: as qkv_bias)"),
      bias_field(
          "ffn_bias", &Spec::ffn_bias, [](const Biases& of) { return of.ffn; },
          "of the ffn (default: as bias)"),
      bias_field(
          "patch_bias", &Spec::patch_bias, [](const Biases& of) { return of.patch; },
          "of the map of patches (default: as bias)"),
      Field("model", "head_bias", transformer | mlp, &Spec::head_bias)
          .option(Option::detail, "", "", "of the head, which bias leaves out")
          .written_if([](const Spec& spec) { return spec.head_bias; }),
      Field("model", "ntk", all, &Spec::ntk)
          .option(Option::detail, "", "", "weights of variance 1, outputs scaled instead"),
      Field("model", "norm_affine", all, &Spec::norm_affine)
          .option(Option::detail, "", "", "norms have trainable gains and shifts"),
      Field("model", "gain_offset", all, &Spec::gain_offset)
          .option(Option::detail, "", "", "gains of norms are 1 + a parameter that starts at 0")
          .written_if([](const Spec& spec) { return spec.gain_offset; }),
      Field("model", "layer_scale", transformer, &Spec::layer_scale)
          .range(Range::not_negative)
          .option(Option::detail, "S", "1e-6",
                  "a learnt vector that starts at S multiplies each branch (default 0: none)")
          .written_if([](const Spec& spec) { return spec.layer_scale != 0; }),
      Field("model", "norm", all, &Spec::norm)
          .option(Option::block, "NAME", "rmsnorm", "of the blocks: layernorm, rmsnorm, none, ..."),
      Field("model", "norm_eps", all, &Spec::norm_eps)
          .range(Range::not_negative)
          .option(Option::detail, "E", "1e-5", "added to a norm's variance"),
      Field("model", "norm_alpha", all, &Spec::norm_alpha)
          .range(Range::positive)
          .option(Option::detail, "A", "1",
                  "of norm dyt, tanh(A x): where A, a parameter of each, starts (default 0.5)")
          .written_if([](const Spec& spec) { return spec.norm_alpha != 0.5; }),
      Field("model", "norm_scale", transformer, &Spec::norm_scale)
          .symbols({"N", "l"})
          .option(Option::detail, "X", "\"l^(-1/2)\"",
                  "of the norms in front of block l's branches, in l, N (LayerNorm Scaling: "
                  "l^(-1/2); default 1)")
          .written_if([](const Spec& spec) { return !spec.norm_scale.is_one(); }),
      modulation_field(),
      Field("model", "placement", transformer | mlp, &Spec::placement)
          .option(Option::command, "PLACEMENT", "pre",
                  "where the norms stand (scalecalc list placements)"),
      Field("model", "ramp", transformer | mlp, &Spec::ramp)
          .range(Range::part)
          .option(Option::detail, "R", "0.5",
                  "weight of the branches, 0 to 1: BranchNorm's ramp, in front of those of any "
                  "placement"),
      Field("model", "alpha", all, &Spec::alpha)
          .symbols({"N", "M"})
          .option(Option::command, "X", "\"(2*N)^(1/4)\"",
                  "skip multiplier: a number, a formula in N, or auto"),
      Field("model", "lambda", all, &Spec::lambda)
          .symbols({"N", "M"})
          .option(Option::command, "X", "\"(2*N)^(-1/4)\"",
                  "gain of v, o, ffn_in, ffn_out: likewise"),
      Field("model", "attention_scale", transformer | layers, &Spec::attention_scale)
          .named("attention_scale", "scale")
          .symbols({"N", "width", "head_width"})
          .option(Option::detail, "X", "1/head_width",
                  "of the scores, in N, width, head_width (default head_width^(-1/2))"),
      Field("model", "dropout", transformer | mlp, &Spec::dropout)
          .range(Range::rate)
          .option(Option::detail, "R", "0.1", "the rate at its places"),
      Field("model", "dropout_place", transformer | mlp, &Spec::dropout_place)
          .option(Option::detail, "P", "input+branch",
                  "input, branch, activation, stream, joined by + (default branch)")
          .written_if([](const Spec& spec) { return spec.dropout_place != DropoutPlaces{}; }),
      Field("model", "attention_dropout", transformer, &Spec::attention_dropout)
          .range(Range::rate)
          .option(Option::detail, "R", "0.1", "the rate of the attention weights"),
      Field("model", "drop_path", transformer | mlp, &Spec::drop_path)
          .range(Range::rate)
          .option(Option::detail, "R", "0.1",
                  "the rate at which samples lose the last block's branches (stochastic depth)")
          .written_if([](const Spec& spec) { return spec.drop_path != 0; }),
      Field("model", "drop_path_rises", transformer | mlp, &Spec::drop_path_rises)
          .option(Option::detail, "", "",
                  "drop_path is the last block's, and rises from 0 at the first")
          .written_if([](const Spec& spec) { return !spec.drop_path_rises; }),
      Field("model", "optimizer", all, &Spec::optimizer)
          .option(Option::command, "OPTIMIZER", "adam",
                  "what auto is solved for (scalecalc list families)"),
  };
}

std::vector<ModelField> make_fields() {
  std::vector<ModelField> fields;
  for (const auto make : {shape_fields, block_fields, rotary_fields, more_block_fields, init_fields,
                          gain_fields, data_fields, condition_fields})
    for (ModelField& field : make()) {
      if (field.section == "memory")
        field.is_written = [own = field.is_written](const Spec& spec) {
          return uses_memory(spec) && own(spec);
        };
      fields.push_back(std::move(field));
    }
  return fields;
}

const char* with_article(Kind kind) {
  switch (kind) {
    case Kind::transformer: return "a transformer";
    case Kind::mlp: return "an mlp";
    case Kind::layers: break;
  }
  return "a list of layers";
}

std::vector<std::string> names_of(Kind kind) {
  std::vector<std::string> names;
  for (const ModelField& field : model_fields())
    if (field.belongs_to(kind)) names.push_back(field.name);
  return names;
}

}  // namespace

const std::vector<ModelField>& model_fields() {
  static const std::vector<ModelField> fields = make_fields();
  return fields;
}

const ModelField* find_field(std::string_view name, Kind kind) {
  for (const ModelField& field : model_fields())
    if (field.belongs_to(kind) && field.is_called(name)) return &field;
  return nullptr;
}

const ModelField& model_field(std::string_view name, Kind kind, const std::string& where) {
  if (const ModelField* field = find_field(name, kind)) return *field;
  std::string kinds;
  for (const Kind other : {Kind::transformer, Kind::mlp, Kind::layers})
    if (find_field(name, other) != nullptr)
      kinds += (kinds.empty() ? "\"" : " or \"") + to_string(other) + "\"";
  if (kinds.empty()) throw unknown_name("field", name, names_of(kind), where);
  throw Error(ErrorKind::usage, std::string(with_article(kind)) + " has no " + std::string(name),
              where, "leave it out, or use a model of kind " + kinds);
}

}  // namespace scalecalc
