#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/check.hpp"

namespace scalecalc::passes {

/// Throw Error(input) naming `where`.
[[noreturn]] void refuse(const std::string& where, std::string message, std::string hint);
void check_size(const std::string& where, const char* name, std::int64_t value);
void check_number(const std::string& where, const char* name, double value, bool non_negative);

/// Follows the shape of the stream through the layers.
class Checker {
 public:
  Checker(const Network& network, Checked& checked);

  void run(const std::vector<Layer>& layers);
  std::int64_t width() const { return at_.width; }
  std::int64_t tokens() const { return at_.tokens; }

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

 private:
  /// Tokens of one sequence, and features.
  struct Shape {
    std::int64_t tokens, width;
    bool operator==(const Shape&) const = default;
  };

  void expect(const std::string& path, std::int64_t width) const;
  void weights(const Linear& layer);
  void key_or_value(const Attention& layer, const Linear& projection, Shape from);
  void added_scores(const Attention& layer, std::int64_t tokens);
  void conv_sizes(const Conv2d& layer) const;
  void branch(const Residual& layer);
  void rate(const std::string& path, double value) const;
  void add_parameters(std::int64_t rows, std::int64_t columns);
  void add_activations(int copies);

  double batch_;
  std::int64_t memory_sequence_;
  Shape at_;
  bool ids_;
  std::optional<Shape> scores_;  ///< tokens and heads of residual attention so far
  Checked& checked_;
};

}  // namespace scalecalc::passes
