#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graphs/constants.hpp"
#include "graphs/figures.hpp"
#include "graphs/tree.hpp"
#include "scalecalc/network.hpp"

/// A tree of layers in the words of a model file.
namespace scalecalc::graphs {

/// What is known of a graph.
struct Understood {
  const Program& program;
  const PartGraph& graph;
  const Constants& constants;
  const Figures& figures;
  const std::vector<Item>& items;
  const std::vector<Item>& memory;  ///< what the first of two stacks is; empty: one stack
  const std::optional<GraphCondition>& condition;  ///< what modulates the items; none: nothing
  std::set<std::string>& remarks;

  const Part& part(std::size_t index) const { return graph.parts[index]; }
  [[noreturn]] void fail(std::size_t part, const std::string& what,
                         const std::string& hint = {}) const;
};

/// A transformer of blocks that are alike; none where it is none.
std::optional<ModelSpec> as_transformer(const Understood& known);
/// A list of layers. Throws Error(input) for what no list has, at its line.
ModelSpec as_layers(const Understood& known);

/// The shortest number within two standard errors, and 1%, of a measured root mean square; its
/// square.
double neat(double std, std::int64_t counted);
double neat_square(double std, std::int64_t counted);
/// Of several tensors of one role.
std::optional<Figure> pooled(const std::vector<Figure>& figures);
using RoleFigures = std::map<std::string, std::vector<Figure>>;
/// Of the first role, and of all that are drawn as it is.
Figure base_of(const RoleFigures& weights);
NormKind norm_kind(const Part& norm);

/// Names of tensors in the file beside paths of parameters, as they are found.
class FoundNames {
 public:
  explicit FoundNames(const Understood& known) : known_(known) {}
  /// The parameters of a map at its path: weight and bias.
  void map(std::size_t part, const std::string& path);
  void norm(std::size_t part, const std::string& path);
  /// The map of patches, or a convolution with the same entries.
  void patches(std::size_t part);
  void tensor(std::size_t tensor, const std::string& path, const Part* part = nullptr,
              bool is_matrix = false);
  /// A tensor that is no parameter of the model.
  void ignore(std::size_t tensor);
  /// Patterns of all; those of blocks 0, 1, ... become one, "{i}", where one of `blocks` ("block[")
  /// begins their paths and names differ by that number alone.
  ModelSpec::Names take(const std::vector<std::string>& blocks) const;

 private:
  struct Share {
    std::int64_t first_row;
    std::string path;
  };
  struct Entry {
    std::string name;
    std::vector<Share> shares;
    bool is_matrix = false, is_in_out = false, is_interleaved = false;
  };
  NamePattern pattern_of(const Entry& entry) const;

  const Understood& known_;
  std::vector<Entry> entries_;
  std::vector<std::string> ignored_;
  std::map<std::string, std::size_t> index_;  ///< of entries, by name
};

}  // namespace scalecalc::graphs
