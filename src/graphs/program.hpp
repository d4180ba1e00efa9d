#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/error.hpp"
#include "weights/exported.hpp"

/// A graph of torch.export as its file has it, checked but not understood.
namespace scalecalc::graphs {

struct ProgramLimits {
  static constexpr std::uint64_t json_bytes = 256'000'000;
  static constexpr std::size_t nodes = 1'000'000;
  static constexpr std::size_t dimensions = 16;
};

using Sizes = std::vector<std::int64_t>;

/// A tensor of the graph. Its index is its place in Program::tensors.
struct TensorInfo {
  std::string name;
  Sizes sizes;
  bool is_float = false;
};

/// What an operation is given. Of several kinds at once where the file writes several.
struct Argument {
  std::string name;
  std::vector<std::optional<std::size_t>> tensors;  ///< indices; none in a list: left out
  bool is_tensor_list = false;
  Sizes integers;
  std::vector<double> numbers;  ///< of integers too
  std::optional<bool> flag;
  std::string text;
  bool is_none = false;
};

/// One call of an operation.
struct Node {
  std::string target;     ///< "aten.linear.default"
  std::string operation;  ///< "linear"
  std::vector<Argument> arguments;
  std::vector<std::size_t> outputs;  ///< tensors
  std::string line;                  ///< "model.py:18 `x = self.norm(x)`", of the user's code
  std::string module;                ///< "blocks.0.norm"; empty: the whole model

  const Argument* find(std::string_view name) const;
};

/// A tensor that the graph begins with.
struct Input {
  enum class Kind { parameter, buffer, constant, user };
  Kind kind = Kind::user;
  std::size_t tensor = 0;
  std::string target;  ///< the parameter's name in the model; of others that of the buffer
};

struct Program {
  std::string path, torch_version;
  std::vector<TensorInfo> tensors;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<std::size_t> outputs;  ///< tensors that the user is given
  weights::Exported weights;
  bool has_weights = false;
};

/// Throws Error(input) as read_graph() does.
Program read_program(const weights::ZipArchive& archive);

/// A wrong file.
Error wrong_graph(const Program& program, const std::string& what, const std::string& hint = {});
/// What is wrong at a node: "WHAT (model.pt2: aten.cat.default at net.py:12 `...`); HINT".
Error wrong_node(const Program& program, const Node& node, const std::string& what,
                 const std::string& hint = {});
/// "net.py:12 `...`", or what else says where a node stands.
std::string place_of(const Node& node);
/// "(2, 16, 32)".
std::string to_string(const Sizes& sizes);

}  // namespace scalecalc::graphs
