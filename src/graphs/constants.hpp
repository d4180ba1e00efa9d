#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graphs/program.hpp"
#include "weights/zip_archive.hpp"

namespace scalecalc::graphs {

/// Tensors of a graph that hang on no input: masks, positions, tables. One entry at a time is asked
/// for and found through the operations that make it, so that a mask of any size takes no memory.
class Constants {
 public:
  Constants(const Program& program, const weights::ZipArchive& archive);

  /// Whether it is made of constants alone. Parameters are none; a buffer is one.
  bool is_constant(std::size_t tensor) const { return is_constant_[tensor]; }
  /// None: an operation that is not known here, values that are not in the file, or too much work.
  std::optional<double> at(std::size_t tensor, const Sizes& index) const;
  /// Buffers and constants of the file that it is made of, each once.
  std::vector<std::size_t> sources(std::size_t tensor) const;
  /// The values of a parameter, a buffer or a constant; empty where they are not in the file, or
  /// more than `most`.
  const std::vector<double>& values(std::size_t tensor, std::size_t most = 1 << 20) const;
  /// The name in the file, of several the one that the module has first.
  const std::string& target(std::size_t tensor) const { return targets_[tensor]; }

 private:
  std::optional<double> of_node(const Node& node, std::size_t output, const Sizes& index) const;
  std::optional<double> through_view(const Node& node, const std::string& operation,
                                     const Sizes& index) const;
  std::optional<double> along(const Node& node, const std::string& operation,
                              const Sizes& index) const;
  std::optional<double> gathered(const Node& node, const std::string& operation,
                                 const Sizes& index) const;
  std::optional<double> filled(const Node& node, const std::string& operation,
                               const Sizes& index) const;
  std::optional<double> pointwise(const Node& node, const std::string& operation,
                                  const Sizes& index) const;
  /// An argument at the place of a result that it is broadcast to, or a number.
  std::optional<double> operand(const Node& node, std::size_t argument, const Sizes& index) const;

  const Program& program_;
  const weights::ZipArchive& archive_;
  std::vector<bool> is_constant_;
  std::vector<std::size_t> maker_;  ///< node of each tensor; none: all ones
  std::vector<std::string> targets_;
  mutable std::map<std::size_t, std::vector<double>> read_;
  mutable std::map<std::pair<std::size_t, Sizes>, double> sums_;  ///< of cumsum
  mutable std::int64_t work_ = 0;
  mutable int depth_ = 0;
};

}  // namespace scalecalc::graphs
