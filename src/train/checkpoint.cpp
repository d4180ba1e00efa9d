#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_writer.hpp"
#include "train/checkpoint_file.hpp"
#include "train/hash.hpp"

namespace scalecalc::train_room {

void save_checkpoint(const std::string& path, std::uint64_t run, const Progress& progress,
                     const Trainer<float>& trainer) {
  nlohmann::ordered_json header;
  header["scalecalc checkpoint"] = 1;
  header["run"] = run;
  header["step"] = progress.step;
  header["loss_sum"] = progress.loss_sum;
  header["loss_count"] = progress.loss_count;
  header["tensors"] = tensors_json(trainer.state());
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
  const Checkpoint checkpoint = read_checkpoint(path, run, trainer.state());
  progress = checkpoint.progress;
  for (std::size_t i = 0; i < checkpoint.values.size(); ++i)
    trainer.set_state(i, checkpoint.values[i].data());
  trainer.set_steps(progress.step);
  return true;
}

void remove_checkpoint(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(base::FileWriter::temporary_name(base::resolved_path(path)), ignored);
}

}  // namespace scalecalc::train_room
