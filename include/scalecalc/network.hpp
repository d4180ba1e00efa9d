#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scalecalc/symbolic.hpp"

/// What a network is: names, shapes and scales, no mathematics. The moment rules and the tensor
/// passes read the same Network.
namespace scalecalc {

enum class Placement { post, pre, res_post, sandwich, sub_ln, none };
enum class NormKind { layernorm, rmsnorm, none };
enum class Distribution { normal, uniform, truncated_normal, orthogonal };
enum class InputKind { gaussian, tokens };
enum class Reduction { sum, mean };

/// "post", "res-post", ... as on the command line and in model files.
std::string to_string(Placement);
std::string to_string(NormKind);
std::string to_string(Distribution);
/// Throws Error(input) with the nearest name. `where` names the option or the file position.
Placement placement_from(std::string_view name, const std::string& where = "placement");
NormKind norm_from(std::string_view name, const std::string& where = "norm");
Distribution distribution_from(std::string_view name, const std::string& where = "distribution");
const std::vector<std::string>& placement_names();
/// post normalises its input and has no final norm; all others but none have a final norm.
bool has_final_norm(Placement);

/// A model as its file describes it ("Model files" in the README), before it is laid out at a
/// depth. Scales are formulas in N (layers); an empty alpha or lambda is "auto", to be solved by
/// the caller.
struct ModelSpec {
  enum class Kind { transformer, mlp };
  Kind kind = Kind::transformer;
  std::int64_t layers = 12;  ///< blocks, 1..1000000
  std::int64_t width = 64;   ///< features d
  std::int64_t heads = 4;    ///< divides width
  std::int64_t ffn = 256;
  std::int64_t vocab = 64;     ///< classes of the head ("classes" of an mlp)
  std::int64_t features = 64;  ///< input features of an mlp
  std::int64_t sequence = 24;  ///< tokens T (different inputs of an mlp)
  std::int64_t batch = 1;
  bool causal = false;
  std::string activation = "gelu";
  bool bias = false;
  bool norm_affine = false;
  NormKind norm = NormKind::layernorm;
  double norm_eps = 0.0;
  Placement placement = Placement::post;
  std::optional<Expr> alpha = Expr(1);
  std::optional<Expr> lambda = Expr(1);
  /// Scale of the scores before softmax: a formula in head_width, width and N.
  Expr attention_scale = Expr(1) / sqrt(Expr::symbol("head_width"));
  std::string optimizer = "adam";

  struct Init {
    /// lecun: variance 1/fan_in; xavier: 2/(fan_in + fan_out); he: 2/fan_in; gpt2: std 0.02, and
    /// 0.02/sqrt(2N) for o and ffn_out; bert: std 0.02; t5: lecun, but q 1/sqrt(width head_width),
    /// for attention_scale = 1; std; weight_variance. Model files with bert and no distribution get
    /// a normal truncated at 2 std, whose own std is 0.02 (BERT's code leaves 0.0176 of its 0.02).
    std::string scheme = "lecun";
    double std = 0.0;              ///< of scheme "std"
    double weight_variance = 1.0;  ///< of scheme "weight_variance", divided by fan-in
    double bias_variance = 0.0;    ///< needs biases
    Distribution distribution = Distribution::normal;
    /// Gains by role (q k v o ffn_in ffn_out head; an mlp: linear head), formulas in N and lambda.
    /// Left out: lambda for v, o, ffn_in, ffn_out and the linear layers of an mlp's branches,
    /// else 1.
    std::map<std::string, Expr> gain;
  } init;

  struct Input {
    InputKind kind = InputKind::gaussian;
    double second = 1.0;
    double cross = 0.0;  ///< E[x_t x_s] of two tokens, within [0, second]
  } input;

  Reduction reduction = Reduction::sum;
};

/// The spec of a transformer or an mlp with that kind's own defaults (an mlp: placement none, no
/// norm, which is a plain stack; with a placement the first layer maps the features to the width
/// and each further one is a branch phi(x W)).
ModelSpec default_spec(ModelSpec::Kind kind);

/// Reads a model file. Throws Error(input): unreadable, not UTF-8, too large (1 MiB), or a wrong
/// key or value at "file:line:column" with the nearest key. Keys of what no rule here computes
/// (dropout, gated, grouped heads) are taken at their neutral value and refused at any other.
ModelSpec read_model(const std::string& path);
/// The same from text; `name` stands for the file in messages.
ModelSpec parse_model(std::string_view toml, const std::string& name);
/// Checks every field and what they must satisfy together (heads divide width, cross <= second,
/// ...). Throws Error(input) naming the field; `where` as the caller knows it.
void validate(const ModelSpec& spec, const std::string& where = {});

// ---- the layers ---------------------------------------------------------------------------------

/// y = x W (+ b), W of shape (fan_in, fan_out), entries with standard deviation `std`.
struct Linear {
  std::string path;  ///< site; the parameter is path + ".weight"
  std::string role;  ///< q k v o ffn_in ffn_out linear head
  std::int64_t fan_in = 0, fan_out = 0;
  double gain = 1.0;
  double std = 0.0;  ///< gain included
  Distribution distribution = Distribution::normal;
  bool bias = false;
  double bias_std = 0.0;
  bool in_branch = false;  ///< a weight matrix inside a residual branch
};
struct ActivationLayer {
  std::string path;
  std::string function;
};
struct Norm {
  std::string path;
  NormKind kind = NormKind::layernorm;
  std::int64_t width = 0;
  double eps = 0.0;
  bool affine = false;
};
/// Softmax attention over the tokens of one sequence; `norm` acts on the mix (sub-ln).
struct Attention {
  std::string path;
  std::int64_t heads = 1, head_width = 0;
  bool causal = false;
  double scale = 1.0;
  Linear q, k, v, o;
  std::optional<Norm> norm;
};
struct Layer;
/// x' = [norm]( skip * x + branch * body(x) ).
struct Residual {
  std::string path;
  double skip = 1.0, branch = 1.0;
  std::vector<Layer> body;
  std::optional<Norm> norm;
};
/// A trainable table of `vocab` rows.
struct Embedding {
  std::string path;
  std::int64_t vocab = 0, width = 0;
  double std = 1.0;
};
struct Layer {
  std::variant<Linear, ActivationLayer, Norm, Attention, Residual, Embedding> op;
};

/// A laid-out network: input -> layers -> logits -> cross-entropy against uniformly random targets.
struct Network {
  InputKind input = InputKind::gaussian;
  std::int64_t sequence = 0, batch = 1, features = 0, classes = 0;
  double input_second = 1.0, input_cross = 0.0;
  Reduction reduction = Reduction::sum;
  std::vector<Layer> layers;  ///< the last is the head, a Linear
};

/// Lays the spec out at its depth: formulas evaluated at N = spec.layers. Placements: post norms
/// its input and alpha x + F(x); pre alpha x + F(Norm(x)); res-post x + Norm(F(x))/alpha; sandwich
/// x + Norm(F(Norm(x)))/alpha; sub-ln x + F(Norm(x)) with a norm before the output projection; none
/// alpha x + F(x). Throws Error(input) for what validate() refuses, when alpha or lambda is still
/// "auto", or for more than 2e9 parameters.
Network build_network(const ModelSpec& spec);

struct ParameterInfo {
  std::string path;  ///< "block[3].ffn.in.weight"
  std::string role;
  std::int64_t rows = 0, columns = 0;
  double std = 0.0;
  bool in_branch = false;  ///< counted by sweeps over "branch" parameters
  bool is_matrix = true;   ///< false for biases and norm gains
};
/// Every parameter in the order of the forward pass.
std::vector<ParameterInfo> parameters(const Network& network);
std::int64_t parameter_count(const Network& network);

}  // namespace scalecalc
