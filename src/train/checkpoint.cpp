#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_writer.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "train/files.hpp"
#include "train/hash.hpp"

/// A line of JSON, the values of all tensors one after the other, and the hash of those values.
namespace scalecalc::train_room {
namespace {

using Json = nlohmann::ordered_json;

Json tensors_of(const Trainer<float>& trainer) {
  Json list = Json::array();
  for (const StateTensor& tensor : trainer.state()) {
    list.push_back({tensor.name, tensor.rows, tensor.columns});
  }
  return list;
}

constexpr char kRemove[] = "remove it and the log beside it to train the run again";

[[noreturn]] void damaged(const std::string& path, const char* why) {
  throw Error(ErrorKind::input, why, base::shortened(path), kRemove);
}

/// The first line, without its end.
std::string read_header(base::InputFile& file) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 26;
  std::string line;
  for (char next = 0; line.size() < kMostBytes && file.read(&next, 1) == 1; line += next) {
    if (next == '\n') return line;
  }
  damaged(file.path(), "the checkpoint is damaged");
}

}  // namespace

void save_checkpoint(const std::string& path, std::uint64_t run, const Progress& progress,
                     const Trainer<float>& trainer) {
  Json header;
  header["scalecalc checkpoint"] = 1;
  header["run"] = run;
  header["step"] = progress.step;
  header["loss_sum"] = progress.loss_sum;
  header["loss_count"] = progress.loss_count;
  header["tensors"] = tensors_of(trainer);
  base::FileWriter file(path, experiment_messages("cannot write the checkpoint"),
                        base::Durability::on_disk);
  const std::string line = header.dump() + "\n";
  file.write(line);
  std::uint64_t sum = hash(line.data(), line.size());
  for (std::size_t i = 0; i < trainer.state().size(); ++i) {
    const MatrixView<float> view = trainer.state(i);
    const std::size_t bytes = static_cast<std::size_t>(view.size()) * sizeof(float);
    file.write(view.data, bytes);
    sum = hash(view.data, bytes, sum);
  }
  file.write(&sum, sizeof sum);
  file.commit();
}

bool load_checkpoint(const std::string& path, std::uint64_t run, Progress& progress,
                     Trainer<float>& trainer) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return false;
  base::InputFile file(path, {"checkpoint", kRemove});
  std::string line = read_header(file);
  const Json header = Json::parse(line, nullptr, false);
  if (header.is_discarded() || !header.is_object() ||
      header.value("scalecalc checkpoint", 0) != 1) {
    damaged(path, "this is no checkpoint");
  }
  try {
    if (header.at("run").get<std::uint64_t>() != run ||
        header.at("tensors") != tensors_of(trainer)) {
      damaged(path, "the checkpoint is of another run");
    }
    progress = {header.at("step").get<std::int64_t>(), header.at("loss_sum").get<double>(),
                header.at("loss_count").get<std::int64_t>()};
  } catch (const Json::exception&) {
    damaged(path, "the checkpoint is damaged");
  }
  line += "\n";
  std::uint64_t sum = hash(line.data(), line.size()), written = 0;
  std::vector<std::vector<float>> values;
  for (const StateTensor& tensor : trainer.state()) {
    std::vector<float>& of =
        values.emplace_back(static_cast<std::size_t>(tensor.rows * tensor.columns));
    const std::size_t bytes = of.size() * sizeof(float);
    if (file.read(of.data(), bytes) < bytes) {
      damaged(path, "the checkpoint is cut short");
    }
    sum = hash(of.data(), bytes, sum);
  }
  if (file.read(&written, sizeof written) < sizeof written || written != sum) {
    damaged(path, "the checkpoint is damaged");
  }
  for (std::size_t i = 0; i < values.size(); ++i) trainer.set_state(i, values[i].data());
  trainer.set_steps(progress.step);
  return true;
}

void remove_checkpoint(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(base::FileWriter::temporary_name(base::resolved_path(path)), ignored);
}

}  // namespace scalecalc::train_room
