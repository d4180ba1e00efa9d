#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/checker.hpp"

namespace scalecalc::passes {

/// Follows the shape of the stream through the layers.
class Checker {
 public:
  Checker(const Network& network, Checked& checked);

  void run(const std::vector<Layer>& layers);
  Shape shape() const { return at_; }

  void operator()(const Linear& layer);
  void operator()(const ActivationLayer& layer);
  void operator()(const Norm& layer);
  void operator()(const Attention& layer);
  void operator()(const Residual& layer);
  void operator()(const Embedding& layer);
  void operator()(const Gated& layer);
  void operator()(const Dropout& layer);
  void operator()(const Conv2d& layer);
  void operator()(const DualStream& layer);
  void operator()(const Pool& layer);
  void operator()(const Parallel& layer);
  void operator()(const Encoder& layer);
  void operator()(const ClassTokens& layer);
  void operator()(const Experts& layer);
  void operator()(const MaxPool& layer);
  void operator()(const Upsample& layer);
  void operator()(const Concat& layer);
  void operator()(const ConditionLayer& layer);
  void operator()(const Modulation& layer);

 private:
  void expect(const std::string& path, std::int64_t width) const;
  void weights(const Linear& layer);
  void key_or_value(const Attention& layer, const Linear& projection, Shape from);
  void added_scores(const Attention& layer, std::int64_t tokens);
  void first_values(const Attention& layer, Shape own);
  void rotary(const Attention& layer);
  void biases(const Attention& layer);
  void relative(const Attention& layer);
  void softcap(const Attention& layer);
  void conv_sizes(const Conv2d& layer) const;
  void image(const std::string& path, std::int64_t height, std::int64_t width) const;
  void branch(const Residual& layer);
  /// A map of the condition to a vector as wide as the stream.
  void map_of_condition(const std::string& path, const Linear& layer);
  void rate(const std::string& path, double value) const;
  void add_parameters(std::int64_t rows, std::int64_t columns);
  void add_product(std::int64_t rows, std::int64_t columns);
  void add_activations(int copies);

  double batch_;
  Shape memory_input_;
  std::optional<Shape> memory_;  ///< what an encoder makes of it
  Shape condition_input_;
  std::optional<Shape> condition_;
  bool tokens_;      ///< the inputs are ids
  bool memory_ids_;  ///< those of an encoder are, too
  Shape at_;
  bool ids_;
  std::optional<Shape> scores_;  ///< tokens and heads of residual attention so far
  std::optional<Shape> values_;  ///< of the last attention that gives them to others
  /// Of the last table of relative biases.
  struct BiasTable {
    std::int64_t buckets, distance, heads, tokens;
    bool causal;
    bool operator==(const BiasTable&) const = default;
  };
  std::optional<BiasTable> table_;
  std::optional<Rotary> turned_;  ///< the last attention's, whose table is kept
  Checked& checked_;
};

}  // namespace scalecalc::passes
