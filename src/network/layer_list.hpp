#pragma once

#include <optional>
#include <string>
#include <vector>

#include "network/parts.hpp"

/// How a list of layers becomes layers of a network.
namespace scalecalc {

/// The stream between two layers of a list.
struct Shape {
  std::int64_t features = 0, tokens = 0;
  std::int64_t height = 0, width = 0;  ///< of the image that the tokens are; 0 when they are none
  bool operator==(const Shape&) const = default;
};
std::string to_string(const Shape& shape);

/// One layer in its place: what it is made from, and where it stands.
struct Place {
  const LayerSpec& spec;
  const std::string& path;
  bool in_branch;
  bool is_head = false;
};

struct AttentionScores {
  std::int64_t heads, tokens;
  bool causal;
  bool operator==(const AttentionScores&) const = default;
};
/// What the attentions laid out so far ask of those behind them.
struct AttentionsBefore {
  std::int64_t memory_width = 0;  ///< 0: no encoder made the memory, and none has read it
  std::string encoder;            ///< path of what made it; empty: it is given
  bool memory_is_read = false;
  std::optional<AttentionScores> scores;  ///< of the last residual attention, at scored_by
  std::string scored_by;
};

/// Walks a list. Measuring, it stores nothing and goes once through a repeat whose body leaves the
/// shape it found.
class ListLayout {
 public:
  ListLayout(const Parts& parts, bool measuring) : parts_(parts), measuring_(measuring) {}

  /// The whole of the model's list, head included.
  Extent run(std::vector<Layer>& out);

  // What a kind of layer calls (network/layers/kind.hpp).
  const Parts& parts() const { return parts_; }
  /// Adds one layer; throws Error(input) where the network becomes too large.
  void emit(Layer layer, std::vector<Layer>& out);
  void list(const std::vector<LayerSpec>& layers, const std::string& prefix, Shape& shape,
            bool in_branch, std::vector<Layer>& out, bool last_is_head = false);
  /// The layers of `place`, count times, as path[0], path[1], ...
  void repeat(const Place& place, std::int64_t count, Shape& shape, std::vector<Layer>& out);
  AttentionsBefore attentions;

 private:
  const Parts& parts_;
  bool measuring_;
  Extent extent_;
};

/// The fans that schemes count.
struct SchemeFans {
  Expr in, out;
};
/// A weight matrix with the layer's own keys, and the model's for what it leaves out. `fans` where
/// those of the schemes are not the matrix' own.
Linear listed_weight(const Parts& parts, const Place& place, std::int64_t in, std::int64_t out,
                     const std::optional<SchemeFans>& fans = {});
Norm listed_norm(const Parts& parts, const LayerSpec& spec, const std::string& path,
                 const Shape& shape);
std::string listed_activation(const Parts& parts, const LayerSpec& spec);

}  // namespace scalecalc
