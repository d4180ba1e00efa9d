#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scalecalc/layers.hpp"
#include "scalecalc/names.hpp"
#include "scalecalc/symbolic.hpp"

/// What a network is: names, shapes and scales, no mathematics. The moment rules and the tensor
/// passes read the same Network.
namespace scalecalc {

enum class Placement {
  post,
  pre,
  res_post,
  sandwich,
  sub_ln,
  resi_dual,
  rezero,
  skipinit,
  fixup,
  branchnorm,
  ngpt,
  none
};
enum class InputKind { gaussian, tokens };
enum class Reduction { sum, mean };
/// What the head of a transformer reads: every token, the mean of those that are no class tokens,
/// or the first class token.
enum class Pooling { none, mean, class_token, last_token };
/// Whether a vector a sample, the condition, modulates a transformer's norms and gates its
/// branches: adaln by maps of the model's scheme, adaln_zero by maps that start at 0 (Peebles and
/// Xie 2023).
enum class AdaptiveNorm { none, adaln, adaln_zero };
enum class Loss { cross_entropy, mse };  ///< mse: (1/2)|y - t|^2, targets N(0, target_second)
/// Where a model's dropout stands; at least one. Vaswani et al. 2017 and GPT-2: input+branch;
/// PyTorch's encoder layer: branch+activation.
struct DropoutPlaces {
  bool input = false;       ///< what the first block reads; of an mlp: its features
  bool branch = true;       ///< the end of each branch, before a norm that ends it too
  bool activation = false;  ///< after the ffn's activation
  bool stream = false;      ///< the sum after each branch, behind a norm that closes it
  bool operator==(const DropoutPlaces&) const = default;
};

/// "post", "res-post", ... as on the command line and in model files.
std::string to_string(Placement);
std::string to_string(NormKind);
std::string to_string(Distribution);
/// Throws Error(input) with the nearest name. `where` names the option or the file position.
Placement placement_from(std::string_view name, const std::string& where = "placement");
NormKind norm_from(std::string_view name, const std::string& where = "norm");
Distribution distribution_from(std::string_view name, const std::string& where = "distribution");
/// "branch", "input+branch": names joined by +, in the order of the fields.
std::string to_string(const DropoutPlaces&);
/// Throws Error(input) with the nearest name, and for a name given twice.
DropoutPlaces dropout_places_from(std::string_view names,
                                  const std::string& where = "dropout_place");
const std::vector<std::string>& placement_names();
/// post and ngpt normalise their input and have no final norm; all others but none have a final
/// norm.
bool has_final_norm(Placement);

/// A model as its file describes it (docs/guide/model-files.md), before it is laid out at a
/// depth. Scales are formulas in N (layers); an empty alpha or lambda is "auto", to be solved by
/// the caller.
struct ModelSpec {
  enum class Kind { transformer, mlp, layers };
  Kind kind = Kind::transformer;
  std::int64_t layers = 12;     ///< blocks, 1..1000000
  std::int64_t width = 64;      ///< features d
  std::int64_t heads = 4;       ///< divides width, unless head_width is given
  std::int64_t kv_heads = 0;    ///< divides heads; 0: as many
  std::int64_t head_width = 0;  ///< features of a head; 0: width/heads
  std::int64_t ffn = 256;
  std::int64_t vocab = 64;     ///< classes of the head ("classes" of an mlp)
  std::int64_t features = 64;  ///< input features of an mlp
  std::int64_t sequence = 24;  ///< tokens T (different inputs of an mlp)
  std::int64_t batch = 1;
  bool causal = false;
  std::string activation = "gelu";
  bool gated = false;  ///< ffn.out(phi(ffn.gate(x)) * ffn.in(x))
  /// A mixture of experts: so many ffns, of which a router chooses `top_k` for each token; 0: one
  /// ffn.
  std::int64_t experts = 0;
  std::int64_t top_k = 2;
  std::int64_t expert_ffn = 0;  ///< width inside an expert; 0: ffn
  /// The shares of the chosen in the softmax over all experts are divided by their sum.
  bool norm_topk_prob = true;
  std::int64_t shared_ffn = 0;  ///< width inside an expert that every token goes to; 0: none
  bool shared_gate = false;     ///< sigmoid(x w) multiplies the shared expert
  bool qk_norm = false;         ///< rmsnorm of q and of k in each head, with norm_eps
  bool qk_norm_all = false;     ///< that over the features of all heads at once (OLMo 2)
  /// Rotary positions of q and k in self-attention (see Rotary): above 1, or 0 for none, and the
  /// share of a head's features that is turned, rounded down to an even number, 2 at least.
  double rotary_base = 0.0;
  double rotary_fraction = 1.0;
  RotaryStretch rotary;  ///< how they are slowed for long sequences
  /// Of blocks that have the window: their base, whose turns are not slowed (Gemma 3); 0: as the
  /// others.
  double rotary_local_base = 0.0;
  /// What multiplies the slopes of ALiBi in self-attention (see alibi_slopes): 1 as published, 0
  /// for none. Of causal models without rotary positions.
  double alibi = 0.0;
  /// Learnt biases of self-attention's scores by the distance of a key (see RelativeBias), one
  /// table for all blocks of a stack, whose entries start with this std, a formula in N, width and
  /// head_width. 0 buckets: none.
  std::int64_t relative_buckets = 0, relative_distance = 128;
  Expr relative_std = 1 / sqrt(Expr::symbol("width"));
  /// Self-attention sees the last `window` tokens, itself included; 0: all before it. In blocks
  /// whose letter of the pattern, which is repeated, is L; those of a G see all.
  std::int64_t window = 0;
  std::string window_pattern = "L";
  /// Each self-attention adds the scores of the block before, which had them added, to its own
  /// (RealFormer, He et al. 2021).
  bool residual_attention = false;
  /// Value residual (ResFormer, Zhou et al. 2024): values of every self-attention behind the first
  /// are 1 - this of its own and so much of the first block's; 0: their own.
  double value_residual = 0.0;
  /// All sublayers of a block read one stream and are added in one sum (GPT-J), behind one norm, or
  /// with branch_norms behind one each (GPT-NeoX).
  bool parallel = false;
  bool branch_norms = false;
  /// The head's matrix is the embedding's, transposed; gain "head" multiplies the logits.
  bool tie_head = false;
  /// Learnt vectors in front of the tokens of a gaussian input, counted in `sequence`.
  std::int64_t class_tokens = 0;
  Pooling pool = Pooling::none;
  /// Classes of the head of a model that reads words, where they are not these (a tower's
  /// projection into a space of texts and images); 0: `vocab`.
  std::int64_t head_classes = 0;
  /// A linear map, the activation and a norm between the last block and the head (BERT's).
  bool head_transform = false;
  bool cross_attention = false;  ///< a third sublayer that attends to `memory`
  double dropout = 0.0;          ///< the rate, at dropout_place
  DropoutPlaces dropout_place;
  double attention_dropout = 0.0;  ///< of the attention weights
  /// Rate at which a sample loses the last block's branches (stochastic depth, Huang et al. 2016);
  /// rising over the blocks from 0, or the same in all.
  double drop_path = 0.0;
  bool drop_path_rises = true;
  bool ntk = false;   ///< weights of variance 1, outputs scaled instead
  bool bias = false;  ///< of every linear map but the head
  /// Instead of `bias`: of q, k, v and o; of q, k and v; of k (Whisper has none there); of the ffn.
  std::optional<bool> attention_bias, qkv_bias, k_bias, ffn_bias;
  std::optional<bool> patch_bias;  ///< of the map of patches, likewise
  bool head_bias = false;
  bool norm_affine = false;
  bool gain_offset = false;  ///< of affine norms: the gain is 1 + a parameter that starts at 0
  /// Each branch is multiplied by a learnt vector that starts at this value (LayerScale); 0: none.
  double layer_scale = 0.0;
  NormKind norm = NormKind::layernorm;
  double norm_eps = 0.0;
  double norm_alpha = 0.5;  ///< of dyt, tanh(alpha x): where alpha, a parameter of each, starts
  /// Of placement pre: what the output of the norms in front of block l's branches is multiplied
  /// by, positive, a formula in l (1, 2, ...) and N. LayerNorm Scaling (Sun et al. 2025): l^(-1/2).
  Expr norm_scale = 1;
  Placement placement = Placement::post;
  std::optional<Expr> alpha = Expr(1);
  std::optional<Expr> lambda = Expr(1);
  /// Scale of the scores before softmax: a formula in head_width, width and N.
  Expr attention_scale = Expr(1) / sqrt(Expr::symbol("head_width"));
  /// Scores s become c tanh(s/c) before mask and softmax, logits before the loss (Gemma 2); 0:
  /// none.
  double attention_softcap = 0.0, logit_softcap = 0.0;
  /// Two stacks: an encoder of `layers` blocks, without a mask, makes the memory of the input that
  /// `memory` describes, and a decoder whose blocks have cross-attention reads it.
  bool encoder_decoder = false;
  /// Of two stacks, of the decoder: its depth M, a formula in N that is rounded, and its scales,
  /// formulas in N, M, alpha, lambda (the encoder's).
  Expr decoder_layers = Expr::symbol("N");
  std::optional<Expr> decoder_alpha = Expr::symbol("alpha");
  std::optional<Expr> decoder_lambda = Expr::symbol("lambda");
  AdaptiveNorm modulation = AdaptiveNorm::none;
  std::string optimizer = "adam";

  struct Init {
    /// lecun: variance 1/fan_in; xavier: 2/(fan_in + fan_out); he: 2/fan_in; gpt2: std 0.02, and
    /// 0.02/sqrt(2N) for o and ffn_out (2N: the number of branches); bert: std 0.02; t5: lecun, but
    /// q 1/sqrt(width head_width), for attention_scale = 1; std; weight_variance. Model files with
    /// bert and no distribution get a normal truncated at 2 std, whose own std is 0.02 (BERT's code
    /// leaves 0.0176 of its 0.02).
    std::string scheme = "lecun";
    double std = 0.0;              ///< of scheme "std"
    double weight_variance = 1.0;  ///< of scheme "weight_variance", divided by fan-in
    double bias_variance = 0.0;    ///< needs biases
    Distribution distribution = Distribution::normal;
    std::string names;  ///< how weights are called elsewhere ("hf-gpt2"); empty: by their paths
    /// Gains by role (q k v o ffn_gate ffn_in ffn_out head; others: linear head), in N and lambda.
    /// Left out: lambda for v, o, ffn_in, ffn_out and the linear layers of an mlp's branches,
    /// else 1.
    std::map<std::string, Expr> gain;
  } init;

  /// [names]: what tensors of this model are called, before init.names is asked; in_out: stored
  /// (fan_in, fan_out); tied: other names of tensors; ignored: what is no parameter of the model.
  struct Names {
    std::vector<NamePattern> patterns;
    bool in_out = false;
    std::vector<TiedTensor> tied = {};
    std::vector<std::string> ignored = {};
    bool any() const { return !patterns.empty() || !tied.empty() || !ignored.empty(); }
  } names;

  struct Input {
    InputKind kind = InputKind::gaussian;
    double second = 1.0;
    double cross = 0.0;  ///< E[x_t x_s] of two tokens, within [0, second]
    double zipf = 0.0;   ///< of tokens: word k has frequency ~ k^-zipf; 0: all alike
    /// Variance of learned positions that are added: to tokens, and to a transformer's gaussian
    /// input behind the map of patches and the class tokens.
    double positions = 0.0;
    /// In the place of these fixed sines and cosines of a square grid of patches (DiT).
    bool sinusoids = false;
    /// Of a transformer's gaussian input: features of a patch, which a linear map makes as wide as
    /// the model; 0: the input is of the model's width.
    std::int64_t patch = 0;
    double class_std = 0.0;  ///< of class tokens
    /// Of tokens: rows of a table of segments, as large as words, whose first every token gets.
    std::int64_t segments = 0;
    /// Of tokens of one stack: features of their tables and of the norm behind them, which a linear
    /// map then makes as wide as the model (ALBERT, ELECTRA); 0: the tables are of the model's
    /// width. A head_transform maps back to it.
    std::int64_t embedding_width = 0;
    double multiplier = 1.0;   ///< of tokens: of the embedding's rows, positions aside
    std::optional<bool> norm;  ///< behind the input; left out: of post and branchnorm alone
  } input;

  /// What cross-attention attends to: tokens of an encoder, at these moments; of two stacks, what
  /// the encoder reads.
  struct Memory {
    std::int64_t sequence = 24;
    double second = 1.0, cross = 0.0;
    /// Of two stacks whose decoder reads tokens: features of frames that the encoder reads in their
    /// place, through convolutions over time as wide as the model, each with the activation behind
    /// it (Whisper). Their kernel is odd and padded by half of it; their strides are a list. The
    /// sequence is what leaves them. 0: the encoder reads what the decoder does.
    std::int64_t features = 0, conv_kernel = 3;
    std::string conv_strides = "1 2";
    bool sinusoids = false;  ///< added to what leaves them: fixed sines, then cosines (Whisper)
  } memory;

  /// What modulation is by: c = silu(silu(e W_1) W_2 + table[label]).
  struct Condition {
    std::int64_t features = 256;  ///< of the embedded vector e of a sample
    double second = 1.0;
    double cross = 0.0;        ///< E[e_a e_b] of two samples, within [0, second]
    std::int64_t classes = 0;  ///< rows of the table of labels; 0: there is none
    double class_std = 0.02;   ///< of that table
  } condition;

  Loss loss = Loss::cross_entropy;
  double target_second = 1.0;  ///< of mse
  Reduction reduction = Reduction::sum;
  /// 0..1, in front of every branch, x + ramp F(x), at this moment of training: BranchNorm's, and
  /// that of any placement whose branches have no scalar that is trained.
  double ramp = 1.0;

  /// Of kind layers, whose depth N is `layers`. The head is `classes` wide; without classes (0) the
  /// last of the list is the head, a linear.
  std::vector<LayerSpec> layer_list;
  std::int64_t height = 0;  ///< of an image of `sequence` pixels; 0: it is square
};

/// "transformer", "mlp", "layers".
std::string to_string(ModelSpec::Kind kind);

/// The spec with that kind's own defaults (an mlp: placement none, no norm, which is a plain stack;
/// with a placement the first layer maps the features to the width and each further one is a branch
/// phi(x W); a list of layers: depth 1, no norm, no classes of its own).
ModelSpec default_spec(ModelSpec::Kind kind);

/// Which maps of a transformer have biases.
struct Biases {
  bool qkv = false, k = false, o = false, ffn = false, head = false, patch = false;
  bool any() const { return qkv || k || o || ffn || head || patch; }
};
Biases biases_of(const ModelSpec& spec);

/// Features of one head of a transformer: head_width, or width/heads where it is 0.
std::int64_t head_width(const ModelSpec& spec);

/// Depth M of the decoder of two stacks. Throws Error(input) for a formula without a value, or
/// outside 1..1000000.
std::int64_t decoder_depth(const ModelSpec& spec);
/// The stacks of a spec with encoder_decoder as models of one stack, each at its own depth N; the
/// encoder's input is the sequence. A scale that is "auto" stays so.
ModelSpec encoder_of(const ModelSpec& spec);
ModelSpec decoder_of(const ModelSpec& spec);

/// The model of another library's config, where the path is one: what a model file's `base` may
/// name besides presets and model files. Empty: configs are refused there.
using ConfigReader = std::function<std::optional<ModelSpec>(const std::string& path)>;

/// Reads a model file, and what it names as its base, relative to its folder. Throws Error(input):
/// unreadable, not UTF-8, too large (1 MiB), bases that come back to themselves or are too many, or
/// a wrong key or value at "file:line:column" with the nearest key.
ModelSpec read_model(const std::string& path, const ConfigReader& configs = {});
/// The same from text; `name` stands for the file in messages.
ModelSpec parse_model(std::string_view toml, const std::string& name,
                      const ConfigReader& configs = {});
/// What was understood, as a complete model file that reads back to the same spec.
std::string model_text(const ModelSpec& spec);
/// "section.key" and its value, in the order of a model file as model_text() writes it.
std::vector<std::pair<std::string, std::string>> model_entries(const std::string& text);

/// Named models, built into the program from tables/presets.
struct Preset {
  std::string name, title;
  std::string_view toml;  ///< compiled in: there as long as the program
};
const std::vector<Preset>& presets();
/// Throws Error(input) with the nearest name.
const Preset& preset(std::string_view name, const std::string& where = "preset");
/// A preset's name, or the path of a model file.
ModelSpec find_model(const std::string& name_or_path, const ConfigReader& configs = {});

/// Checks every field and what they must satisfy together (heads divide width, cross <= second,
/// ...). Throws Error(input) naming the field; `where` as the caller knows it.
void validate(const ModelSpec& spec, const std::string& where = {});

/// A laid-out network: input -> layers -> logits -> cross-entropy against uniformly random targets,
/// or mse.
struct Network {
  InputKind input = InputKind::gaussian;
  std::int64_t sequence = 0, batch = 1, features = 0, classes = 0;
  double input_second = 1.0, input_cross = 0.0;
  double zipf = 0.0;  ///< of tokens
  /// Of tokens: the chance that two are the same word, 1/vocab..1, where a text says it; 0: that of
  /// zipf, which passes draw by unless given tokens. Moments alone read it.
  double token_collision = 0.0;
  std::int64_t memory_sequence = 0;
  std::int64_t memory_features = 0;  ///< of a gaussian memory; 0: the memory is as the input
  double memory_second = 1.0, memory_cross = 0.0;
  std::int64_t condition_features = 0;  ///< of the vector that each sample has; 0: none
  double condition_second = 1.0, condition_cross = 0.0;
  double logit_softcap = 0.0;  ///< c: the loss reads c tanh(y/c) of the logits y; 0: y
  Loss loss = Loss::cross_entropy;
  double target_second = 1.0;
  /// Of cross-entropy: the chance that the targets of two tokens are equal, 1/classes..1. 0 stands
  /// for 1/classes, that of the uniformly random targets which passes draw unless given others.
  double target_collision = 0.0;
  Reduction reduction = Reduction::sum;
  std::vector<Layer> layers;  ///< the last is the head, a Linear
};

/// Lays the spec out at its depth: formulas evaluated at N = spec.layers. Placements: post norms
/// its input and alpha x + F(x); pre alpha x + F(Norm(x)); res-post x + Norm(F(x))/alpha; sandwich
/// x + Norm(F(Norm(x)))/alpha; sub-ln x + F(Norm(x)) with a norm before the output projection;
/// resi-dual a DualStream "dual" whose norm is final_norm; rezero and skipinit x + a F(x), a
/// trained from 0; fixup x + F(x), F ending in zeros; branchnorm norms its input and x +
/// F(x)/alpha; ngpt norms its input and alpha x + Norm(F(x)); none alpha x + F(x). The ramp stands
/// in front of F(x) (ngpt: of its norm) in all of them but rezero and skipinit. Throws Error(input)
/// for what validate() refuses, when alpha or lambda is still "auto", for more than 2e9 parameters
/// or 3e6 layers laid out.
Network build_network(const ModelSpec& spec);

struct ParameterInfo {
  std::string path;  ///< "block[3].ffn.in.weight"
  std::string role;
  std::int64_t rows = 0, columns = 0;
  std::optional<Distribution> distribution;  ///< none: every entry starts at `constant`
  double std = 0.0, constant = 0.0;
  bool in_branch = false;  ///< counted by sweeps over "branch" parameters
  bool is_matrix = true;   ///< false for biases and norm gains
};
/// Every parameter in the order of the forward pass; of a residual: body, scale, shortcut, norm.
std::vector<ParameterInfo> parameters(const Network& network);
std::int64_t parameter_count(const Network& network);

}  // namespace scalecalc
