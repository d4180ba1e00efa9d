#include <unistd.h>

#include "fuzz/fuzz.hpp"
#include "train/checkpoint_file.hpp"
#include "train/hash.hpp"

/// Checkpoints of `train`, and weights that it keeps. An input that ends in 's' has the hash of the
/// bytes before instead of it, so that what stands behind that check is reached.
namespace scalecalc::fuzz {

void one(std::string_view input) {
  std::string bytes(input);
  if (input.ends_with('s')) {
    bytes.pop_back();
    const std::size_t line = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    std::uint64_t sum = train_room::hash(bytes.data(), line);
    sum = train_room::hash(bytes.data() + line, bytes.size() - line, sum);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  const std::string path = file_of(bytes, "pre-1-seed0.checkpoint");
  accepts([&] {
    const auto read = train_room::read_checkpoint(path, 7, {{"head.weight", 1, 2}});
    hold(read.values.size() == 1 && read.values[0].size() == 2, "other values than there are");
  });
  accepts([&] { train_room::read_weights(path, 7, {{"head.weight", 1, 2}}); });
}

}  // namespace scalecalc::fuzz
