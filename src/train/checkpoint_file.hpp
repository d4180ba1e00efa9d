#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/files.hpp"

/// A checkpoint, and the weights that a run ended with, as they lie on the disk: a line of JSON,
/// the values of all tensors one after the other, and the hash of both (hash.hpp).
namespace scalecalc::train_room {

struct Checkpoint {
  Progress progress;
  std::vector<std::vector<float>> values;  ///< by tensor, row after row
};

/// The names and shapes that a header lists.
nlohmann::ordered_json tensors_json(const std::vector<StateTensor>& tensors);

/// Throws Error(input) for a file that is not one, is damaged or cut short, is of another run, or
/// has other tensors than these.
Checkpoint read_checkpoint(const std::string& path, std::uint64_t run,
                           const std::vector<StateTensor>& tensors);
/// The same of save_weights().
std::vector<std::vector<float>> read_weights(const std::string& path, std::uint64_t run,
                                             const std::vector<StateTensor>& tensors);

}  // namespace scalecalc::train_room
