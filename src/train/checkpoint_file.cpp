#include "train/checkpoint_file.hpp"

#include <optional>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "train/hash.hpp"
#include "train/records.hpp"

namespace scalecalc::train_room {
namespace {

constexpr char kRemove[] = "remove it and the log beside it to train the run again";

[[noreturn]] void damaged(const std::string& path, const char* why) {
  throw Error(ErrorKind::input, why, base::shortened(path), kRemove);
}

/// The rest of the file, of which `header` is the first line.
std::vector<std::vector<float>> read_values(base::InputFile& file, const std::string& header,
                                            const std::vector<StateTensor>& tensors) {
  std::uint64_t sum = hash(header.data(), header.size()), written = 0;
  std::vector<std::vector<float>> values;
  for (const StateTensor& tensor : tensors) {
    std::vector<float>& of =
        values.emplace_back(static_cast<std::size_t>(tensor.rows * tensor.columns));
    const std::size_t bytes = of.size() * sizeof(float);
    if (file.read(of.data(), bytes) < bytes) damaged(file.path(), "the checkpoint is cut short");
    sum = hash(of.data(), bytes, sum);
  }
  if (file.read(&written, sizeof written) < sizeof written || written != sum)
    damaged(file.path(), "the checkpoint is damaged");
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
  base::InputFile file(path, {"checkpoint", kRemove});
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  const std::optional<std::string> line = file.read_line(kMostBytes);
  if (!line) damaged(path, "the checkpoint is damaged");
  const Json header = read_json(*line);
  if (!header.is_object() || !header.contains("scalecalc checkpoint") ||
      header.at("scalecalc checkpoint") != 1) {
    damaged(path, "this is no checkpoint");
  }
  Checkpoint checkpoint;
  try {
    if (header.at("run").get<std::uint64_t>() != run ||
        header.at("tensors") != tensors_json(tensors)) {
      damaged(path, "the checkpoint is of another run");
    }
    checkpoint.progress = {header.at("step").get<std::int64_t>(),
                           header.at("loss_sum").get<double>(),
                           header.at("loss_count").get<std::int64_t>()};
  } catch (const Json::exception&) {
    damaged(path, "the checkpoint is damaged");
  }
  checkpoint.values = read_values(file, *line + "\n", tensors);
  return checkpoint;
}

}  // namespace scalecalc::train_room
