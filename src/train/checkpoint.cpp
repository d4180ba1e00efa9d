#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_writer.hpp"
#include "train/checkpoint_file.hpp"
#include "train/hash.hpp"
#include "train/records.hpp"

namespace scalecalc::train_room {

namespace {

/// `view(i)`: the values of a tensor.
template <class View>
void write_tensors(const std::string& path, const char* failure, const Json& header,
                   std::size_t count, const View& view) {
  base::FileWriter file(path, experiment_messages(failure), base::Durability::on_disk);
  const std::string line = header.dump() + "\n";
  file.write(line);
  std::uint64_t sum = hash(line.data(), line.size());
  for (std::size_t i = 0; i < count; ++i) {
    const MatrixView<float> values = view(i);
    const std::size_t bytes = static_cast<std::size_t>(values.size()) * sizeof(float);
    file.write(values.data, bytes);
    sum = hash(values.data, bytes, sum);
  }
  file.write(&sum, sizeof sum);
  file.commit();
}

/// Those of all parameters.
std::vector<StateTensor> tensors_of(const Passes<float>& passes) {
  std::vector<StateTensor> tensors;
  for (const ParameterInfo& info : passes.parameters())
    tensors.push_back({info.path, info.rows, info.columns});
  return tensors;
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
  header["tensors"] = tensors_json(trainer.state());
  write_tensors(path, "cannot write the checkpoint", header, trainer.state().size(),
                [&trainer](std::size_t i) { return trainer.state(i); });
}

void save_weights(const std::string& path, std::uint64_t run, const Passes<float>& passes) {
  Json header;
  header["scalecalc weights"] = 1;
  header["run"] = run;
  header["tensors"] = tensors_json(tensors_of(passes));
  write_tensors(path, "cannot write the weights", header, passes.parameters().size(),
                [&passes](std::size_t i) { return passes.parameter(i); });
}

void load_weights(const std::string& path, std::uint64_t run, Passes<float>& passes) {
  const std::vector<std::vector<float>> values = read_weights(path, run, tensors_of(passes));
  for (std::size_t i = 0; i < values.size(); ++i) passes.set_parameter(i, values[i].data());
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
