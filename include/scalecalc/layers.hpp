#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "scalecalc/layers/activation.hpp"
#include "scalecalc/layers/attention.hpp"
#include "scalecalc/layers/class_tokens.hpp"
#include "scalecalc/layers/concat.hpp"
#include "scalecalc/layers/conv2d.hpp"
#include "scalecalc/layers/dropout.hpp"
#include "scalecalc/layers/dual_stream.hpp"
#include "scalecalc/layers/embedding.hpp"
#include "scalecalc/layers/encoder.hpp"
#include "scalecalc/layers/experts.hpp"
#include "scalecalc/layers/gated.hpp"
#include "scalecalc/layers/linear.hpp"
#include "scalecalc/layers/max_pool.hpp"
#include "scalecalc/layers/modulation.hpp"
#include "scalecalc/layers/norm.hpp"
#include "scalecalc/layers/parallel.hpp"
#include "scalecalc/layers/pool.hpp"
#include "scalecalc/layers/residual.hpp"
#include "scalecalc/layers/rotary.hpp"
#include "scalecalc/layers/upsample.hpp"

/// The kinds of layer, as a network has them and as a model file writes them.
namespace scalecalc {

/// One layer of a laid-out network, of any kind.
struct Layer {
  std::variant<Linear, ActivationLayer, Norm, Attention, Residual, Embedding, Gated, Dropout,
               Conv2d, DualStream, Pool, Parallel, Encoder, ClassTokens, Experts, MaxPool, Upsample,
               Concat, ConditionLayer, Modulation>
      op;
};

/// One [[layer]] of a model of kind "layers", before it is laid out. What is empty or 0 takes the
/// model's own value, or follows from the layers before it.
struct LayerSpec {
  enum class Type {
    linear,
    activation,
    norm,
    attention,
    gated,
    dropout,
    conv2d,
    conv1d,
    conv_transpose2d,
    residual,
    concat,
    repeat,
    embedding,
    pool,
    max_pool,
    upsample,
    encoder
  };
  Type type = Type::linear;
  std::string name;  ///< its path is the name, else type[index among the same type]
  std::int64_t width =
      0;  ///< features that leave it; channels of convolutions, factors of a residual
  std::string activation;
  std::optional<NormKind> norm;      ///< of a norm; after a residual's sum; on an attention's mix
  std::optional<double> eps, alpha;  ///< of norms, those of q and k too; of a dyt
  std::optional<bool> affine, bias;
  std::int64_t heads = 1, kv_heads = 0, head_width = 0;
  bool causal = false, qk_norm = false, qk_norm_all = false;
  bool residual_attention = false;  ///< adds the scores of the one before it
  bool memory = false;              ///< attends to the network's memory
  double rotary_base = 0.0;         ///< as in ModelSpec
  double rotary_fraction = 1.0;
  RotaryStretch rotary;
  double alibi = 0.0;
  std::int64_t window = 0;
  double softcap = 0.0;       ///< of an attention's scores
  double dropout = 0.0;       ///< the rate; of an attention: of its weights
  bool per_sample = false;    ///< of a dropout: one mask for all of a sample
  std::optional<Expr> scale;  ///< of the scores, in head_width, width, N
  std::int64_t kernel = 1, stride = 1, padding = 0, groups = 1;
  std::int64_t output_padding = 0;  ///< of a conv_transpose2d
  std::int64_t factor = 2;          ///< of an upsample
  std::optional<Expr> gain;         ///< in N, lambda; left out: lambda in a branch, else 1
  std::optional<double> std;        ///< of the weights (of an embedding: of its rows), gain apart
  /// Of one of the matrices that an attention or a gate has, instead of std.
  std::optional<double> q_std, k_std, v_std, o_std, gate_std, in_std;
  std::optional<double> bias_std;  ///< of the biases; left out: by the model's bias_variance
  std::optional<Distribution> distribution;
  WeightNorm weight_norm = WeightNorm::none;
  Expr skip = 1, branch = 1;  ///< of a residual, in N, alpha, lambda
  bool trainable = false;     ///< the branch scalar is a parameter
  Expr times = 1;             ///< of a repeat, in N
  std::int64_t vocab = 0;     ///< of an embedding
  std::vector<LayerSpec> layers, shortcut;
  std::string where;  ///< "file:line:column", for messages
};

}  // namespace scalecalc
