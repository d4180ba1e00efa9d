#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

/// The JSON text of a graph without what nothing reads.
namespace scalecalc::graphs {

struct GraphJson {
  static constexpr int deepest = 64;  ///< brackets in brackets
  enum class Fault { none, syntax, depth };
};

/// Strides, devices and calls of modules are not kept, and of stack traces and stacks of modules no
/// more than their ends: three quarters of a file. Of members of one name the last counts.
GraphJson::Fault parse_graph(const std::string& text, nlohmann::json& graph);

}  // namespace scalecalc::graphs
