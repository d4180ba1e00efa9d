#pragma once

#include <string>
#include <vector>

#include "scalecalc/network.hpp"

/// Networks as graphs that torch.export writes: every operation of a forward pass, with shapes, and
/// the weights beside them.
namespace scalecalc {

/// What a graph describes.
struct GraphModel {
  std::string source;          ///< the file
  std::string library;         ///< that wrote it: "torch 2.15.0"
  ModelSpec spec;              ///< a transformer where its blocks are alike, else a list of layers
  std::size_t operations = 0;  ///< nodes of the graph; each is part of the model or of a remark
  std::vector<std::string> remarks;  ///< what the spec leaves out, and what that may change
};

/// Whether the path is named as such a file is (".pt2").
bool is_graph(const std::string& path);
/// Nothing of the file is executed. Throws Error(input): a file that is no such archive or is
/// damaged, a graph that contradicts itself, an operation that is not known, a network that is no
/// tree; the operation is named with its line in the code that it was exported from.
GraphModel read_graph(const std::string& path);

}  // namespace scalecalc
