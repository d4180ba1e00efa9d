#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/safetensors.hpp"
#include "weights/zip_archive.hpp"

/// The tensors beside a graph of torch.export (a .pt2 file): a JSON list of names, shapes and
/// entries of the archive for the weights, and one for constants.
namespace scalecalc::weights {

/// Whether the path is named as such a file is.
bool is_exported(const std::string& path);

struct Exported {
  /// Parameters and buffers that are saved with them; what the code makes anew: each of its bytes
  /// once, under its first name, in the order of the file.
  std::vector<Tensor> weights, constants;
  std::map<std::string, std::string> tied;  ///< other names of them
  /// Names of tensors that stand in a pickle, which is not read.
  std::vector<std::string> pickled;
};

/// The folder that all entries lie in ("model/"), or nothing.
std::string root_folder(const ZipArchive& archive);
/// Throws Error(input): lists that are not JSON or contradict the archive. None where the file has
/// no such lists.
Exported exported_tensors(const ZipArchive& archive);

}  // namespace scalecalc::weights
