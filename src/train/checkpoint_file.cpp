#include "train/checkpoint_file.hpp"

#include <optional>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "train/hash.hpp"
#include "train/records.hpp"
#include "train/whole_number.hpp"

namespace scalecalc::train_room {
namespace {

/// What a file of tensors is called, and what helps where it cannot be used.
struct FileKind {
  const char* mark;  ///< the first key of its header
  const char* name;
  const char* what;
  const char* hint;
};
constexpr FileKind kCheckpoint = {"scalecalc checkpoint", "checkpoint", "the checkpoint",
                                  "remove it and the log beside it to train the run again"};
constexpr FileKind kWeights = {"scalecalc weights", "file of weights", "the file of weights",
                               "remove it; the same training with --keep-weights makes it again"};

[[noreturn]] void damaged(const std::string& path, const FileKind& kind, const std::string& why) {
  throw Error(ErrorKind::input, why, base::shortened(path), kind.hint);
}

/// The header's line, and what it says.
struct Header {
  std::string line;
  Json json;
};

/// Throws Error(input) where it is of another kind, run or tensors.
Header read_header(base::InputFile& file, const FileKind& kind, std::uint64_t run,
                   const std::vector<StateTensor>& tensors) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  const std::string is_damaged = std::string(kind.what) + " is damaged";
  const std::optional<std::string> line = file.read_line(kMostBytes);
  if (!line) damaged(file.path(), kind, is_damaged);
  Json header = read_json(*line);
  if (!header.is_object() || !header.contains(kind.mark) || header.at(kind.mark) != 1)
    damaged(file.path(), kind, std::string("this is no ") + kind.name);
  try {
    if (whole<std::uint64_t>(header.at("run")) != run ||
        header.at("tensors") != tensors_json(tensors))
      damaged(file.path(), kind, std::string(kind.what) + " is of another run");
  } catch (const Json::exception&) {
    damaged(file.path(), kind, is_damaged);
  }
  return {*line, std::move(header)};
}

/// The rest of the file, of which `header` is the first line.
std::vector<std::vector<float>> read_values(base::InputFile& file, const FileKind& kind,
                                            std::string header,
                                            const std::vector<StateTensor>& tensors) {
  header += "\n";
  std::uint64_t sum = hash(header.data(), header.size()), written = 0;
  std::vector<std::vector<float>> values;
  for (const StateTensor& tensor : tensors) {
    std::vector<float>& of =
        values.emplace_back(static_cast<std::size_t>(tensor.rows * tensor.columns));
    const std::size_t bytes = of.size() * sizeof(float);
    if (file.read(of.data(), bytes) < bytes)
      damaged(file.path(), kind, std::string(kind.what) + " is cut short");
    sum = hash(of.data(), bytes, sum);
  }
  if (file.read(&written, sizeof written) < sizeof written || written != sum)
    damaged(file.path(), kind, std::string(kind.what) + " is damaged");
  return values;
}

}  // namespace

Json tensors_json(const std::vector<StateTensor>& tensors) {
  Json list = Json::array();
  for (const StateTensor& tensor : tensors)
    list.push_back({tensor.name, tensor.rows, tensor.columns});
  return list;
}

Checkpoint read_checkpoint(const std::string& path, std::uint64_t run,
                           const std::vector<StateTensor>& tensors) {
  base::InputFile file(path, {kCheckpoint.name, kCheckpoint.hint});
  const Header header = read_header(file, kCheckpoint, run, tensors);
  Checkpoint checkpoint;
  try {
    checkpoint.progress = {whole<std::int64_t>(header.json.at("step")),
                           header.json.at("loss_sum").get<double>(),
                           whole<std::int64_t>(header.json.at("loss_count"))};
  } catch (const Json::exception&) {
    damaged(path, kCheckpoint, "the checkpoint is damaged");
  }
  checkpoint.values = read_values(file, kCheckpoint, header.line, tensors);
  return checkpoint;
}

std::vector<std::vector<float>> read_weights(const std::string& path, std::uint64_t run,
                                             const std::vector<StateTensor>& tensors) {
  base::InputFile file(path, {kWeights.name, kWeights.hint});
  const Header header = read_header(file, kWeights, run, tensors);
  return read_values(file, kWeights, header.line, tensors);
}

}  // namespace scalecalc::train_room
