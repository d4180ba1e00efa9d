#pragma once

#include <string>
#include <utility>
#include <vector>

#include "network/weights.hpp"

/// What the layouts of all kinds of model are made of. Formulas are evaluated once, at
/// N = spec.layers.
namespace scalecalc {

class Parts {
 public:
  /// Throws Error(input) for an alpha or lambda that is "auto". Keeps a reference to the spec.
  explicit Parts(const ModelSpec& spec);

  const ModelSpec& spec() const { return spec_; }
  /// N, alpha, lambda and the sizes.
  const Bindings& values() const { return values_; }
  /// Of the model's scheme, gain and distribution; without a path.
  Linear linear(const std::string& role, const Fan& in, const Fan& out, bool in_branch) const;
  Linear head(const Fan& in, const Fan& out) const;
  Norm norm(std::string path, std::int64_t width) const;
  /// Whether there is dropout at this place.
  bool drops(bool DropoutPlaces::*place) const {
    return spec_.dropout > 0 && spec_.dropout_place.*place;
  }
  /// Drops the sum's branch as the model says for this one of so many blocks.
  void drop_path(Residual& sum, std::int64_t block, std::int64_t blocks) const;
  /// The body of a branch with the norms that the placement wants inside it; `scale` is of the
  /// one in front.
  std::vector<Layer> normed(const std::string& path, std::vector<Layer> body,
                            double scale = 1.0) const;
  /// The sum of such a body and the stream, with the norm that the placement wants behind it.
  Residual residual(const std::string& path, std::vector<Layer> body) const;
  /// Both.
  Residual sublayer(const std::string& path, std::vector<Layer> body) const {
    return residual(path, normed(path, std::move(body)));
  }

 private:
  bool has_bias(const std::string& role) const;

  const ModelSpec& spec_;
  Bindings values_;
  Residual residual_;
};

/// The scalars of one branch by the spec's placement; no path, body or norm.
Residual plain_residual(const ModelSpec& spec, const Bindings& values);

/// Whether anything attends to the memory.
bool uses_memory(const ModelSpec& spec);

/// Whether blocks begin behind a norm and end in one of the sum itself, in one stream.
bool norms_sums(Placement placement);
/// Whether a norm is behind a transformer's input: input.norm, or what its placement asks for.
bool has_input_norm(const ModelSpec& spec);
/// Features of a transformer's tables of tokens: input.embedding_width, or its width.
std::int64_t table_width(const ModelSpec& spec);

/// The same weight at its place.
Linear at(const Linear& prototype, std::string path);

/// What is laid out, without laying it out: Layer objects, nested ones included, and parameters.
/// Doubles, which no size overflows.
struct Extent {
  double layers = 0, parameters = 0;
};
Extent extent_of(const std::vector<Layer>& layers, std::int64_t positions);
/// Throws Error(input) for what is too large, naming the limit, that of the memory included; `hint`
/// says what would make it less.
void check_extent(const Extent& extent, const std::string& hint);

/// The first `blocks` blocks of a transformer, or layers of an mlp.
void add_transformer(const Parts& parts, std::int64_t blocks, std::vector<Layer>& layers);
/// Of two stacks: so many blocks of each.
void add_encoder_decoder(const ModelSpec& spec, std::int64_t encoder_blocks,
                         std::int64_t decoder_blocks, std::vector<Layer>& layers);
void add_mlp(const Parts& parts, std::int64_t blocks, std::vector<Layer>& layers);
/// The whole of a model of kind layers, head included.
void add_layer_list(const Parts& parts, std::vector<Layer>& layers);
/// The same, sized and checked without storing it. Throws Error(input) at the layer's position.
Extent measure_layer_list(const Parts& parts);

}  // namespace scalecalc
