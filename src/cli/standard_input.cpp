#include "cli/standard_input.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/launch.hpp"
#include "scalecalc/audit.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 20) + 1;
std::atomic<bool> is_reading = false;

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
  const auto ends = [](std::atomic<bool>* flag) { *flag = false; };
  is_reading = true;
  const std::unique_ptr<std::atomic<bool>, decltype(ends)> reading(&is_reading, ends);
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

bool is_weights(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json");
}

std::optional<LibraryModel> read_config_argument(const std::string& name) {
  if (is_config(name)) return read_config(name);
  if (is_weights(name)) return recognised(name);
  return std::nullopt;
}

LibraryModel recognised(const std::string& weights) {
  const std::vector<LibraryModel> models = recognise_weights(weights);
  LibraryModel model = models.front();
  if (!model.unlike.empty())
    throw Error(ErrorKind::input,
                "these tensors are nearly those of " + model.class_name + ", but " + model.unlike,
                model.source, "give the config.json that the weights were made by");
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
  if (name == kStandardInput)
    return parse_model(read_standard_input("model file"), kStandardInputName);
  if (const auto library = read_config_argument(name)) return described(*library);
  return find_model(name);
}

const ModelSpec& described(const LibraryModel& library) {
  if (library.spec) return *library.spec;
  throw Error(ErrorKind::input,
              "no model file describes this " + library.architecture + ": " + library.why_no_spec,
              library.source, "scalecalc init " + library.source + " lists its tensors");
}

}  // namespace scalecalc::cli
