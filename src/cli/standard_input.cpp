#include "cli/standard_input.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "base/text.hpp"
#include "cli/launch.hpp"
#include "scalecalc/audit.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/graphs.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 20) + 1;
std::atomic<bool> is_reading = false;

/// While it lives, is_reading_standard_input() is true.
class Reading {
 public:
  Reading() { is_reading = true; }
  ~Reading() { is_reading = false; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
};

}  // namespace

bool is_reading_standard_input() {
  return is_reading;
}

std::string read_standard_input(const std::string& what) {
  if (launch_of_environment().size > 1)
    throw Error(ErrorKind::usage, "standard input reaches one of several processes alone",
                kStandardInput, "give the path of a " + what);
  static std::string text;  // what is read a second time is the same
  if (!text.empty()) return text;
  text.resize(kMostBytes);
  const Reading reading;
  std::size_t read = 0;
  while (read < text.size()) {
    const ssize_t more = ::read(STDIN_FILENO, text.data() + read, text.size() - read);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0)
      throw Error(ErrorKind::fault,
                  std::string("cannot read the ") + what + ": " + std::strerror(errno),
                  kStandardInputName, "check what standard input is connected to");
    if (more == 0) break;
    read += static_cast<std::size_t>(more);
  }
  text.resize(read);
  return text;
}

std::optional<std::string> read_typed_line() {
  const Reading reading;
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  const std::size_t start = line.find_first_not_of(" \t\r");
  if (start == std::string::npos) return "";
  return line.substr(start, line.find_last_not_of(" \t\r") + 1 - start);
}

bool is_weights(const std::string& given) {
  const std::string path = tower_path(given).path;
  return path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json");
}

std::optional<LibraryModel> read_config_argument(const std::string& name) {
  if (is_config(name)) return read_config(name);
  if (is_weights(name)) return recognised(name);
  return std::nullopt;
}

LibraryModel recognised(const std::string& given) {
  const auto [weights, tower] = tower_path(given);
  const std::vector<LibraryModel> models = recognise_weights(weights);
  LibraryModel model = models.front();
  if (!model.unlike.empty())
    throw Error(ErrorKind::input,
                "these tensors are nearly those of " + model.class_name + ", but " + model.unlike,
                model.source, "give the config.json that the weights were made by");
  if (!tower.empty()) {
    LibraryModel one = tower_of(model, tower);
    one.remarks.insert(one.remarks.begin(),
                       "recognised by names and shapes: what they do not tell, the number of heads "
                       "above all, is what the library takes");
    return one;
  }
  std::string others;
  for (const std::string& type : model.alike) others += (others.empty() ? "" : ", ") + type;
  for (std::size_t i = 1; i < models.size(); ++i)
    others += (others.empty() ? "" : ", ") + models[i].architecture;
  if (!others.empty())
    model.remarks.insert(model.remarks.begin(),
                         "recognised by names and shapes, which it shares with " + others);
  return model;
}

ModelSpec read_model_argument(const std::string& name) {
  const auto of_config = [](const std::string& path) -> std::optional<ModelSpec> {
    if (is_graph(path)) return read_graph(path).spec;
    const auto library = read_config_argument(path);
    if (!library) return std::nullopt;
    return described(*library);
  };
  if (name == kStandardInput)
    return parse_model(read_standard_input("model file"), kStandardInputName, of_config);
  if (const auto spec = of_config(name)) return *spec;
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored))
    throw Error(ErrorKind::input, "the folder has no config.json that tells of a model",
                base::shortened(name),
                "give the path of a model file (TOML), or a folder with a config.json");
  return find_model(name, of_config);
}

const ModelSpec& described(const LibraryModel& library) {
  if (library.spec) return *library.spec;
  std::string towers;
  for (const std::string& tower : library.towers)
    towers += (towers.empty() ? "" : " or ") + library.source + "#" + tower;
  throw Error(ErrorKind::input,
              "no model file describes this " + library.architecture + ": " + library.why_no_spec,
              library.source,
              towers.empty() ? "scalecalc init " + library.source + " lists its tensors"
                             : "give " + towers);
}

}  // namespace scalecalc::cli
