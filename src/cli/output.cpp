#include "cli/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "base/file_writer.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kStdout[] = "-";

base::WriteMessages messages_of(const std::string& path, const std::string& option) {
  if (path == kStdout)
    return {"cannot write the results", "", "check what standard output is connected to"};
  return {"cannot write the results", option + " ",
          "give " + option + " a path in an existing, writable folder"};
}

/// Files are the same by device and inode, or by the path that is still to be made; a device, which
/// keeps nothing, is like no other.
bool is_same(const std::string& path, const std::string& other_path, const struct stat* other) {
  struct stat about = {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode)) return false;
  if (exists && other != nullptr && about.st_dev == other->st_dev && about.st_ino == other->st_ino)
    return true;
  return base::resolved_path(path) == base::resolved_path(other_path);
}

/// Every file that this process has read or is to write.
class FilesInUse {
 public:
  void add_input(const std::string& path, const struct stat& about) {
    const std::lock_guard lock(mutex_);
    for (const Written& output : outputs_)
      if (is_same(output.path, path, &about)) refuse_to_overwrite(output, path);
    inputs_.push_back({path, about});
  }

  void add_output(const std::string& path, const std::string& option) {
    const std::lock_guard lock(mutex_);
    const Written output = {path, option};
    for (const Read& input : inputs_)
      if (is_same(path, input.path, &input.about)) refuse_to_overwrite(output, input.path);
    bool is_new = true;
    for (const Written& other : outputs_) {
      if (other.option == option && other.path == path) is_new = false;
      if (other.option == option) continue;
      struct stat about = {};
      const bool exists = ::stat(other.path.c_str(), &about) == 0;
      if (is_same(path, other.path, exists ? &about : nullptr)) refuse_both(other, output);
    }
    if (is_new) outputs_.push_back(output);
  }

  void check_folder(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    for (const Written& output : outputs_)
      if (is_same(output.path, folder, nullptr)) refuse_both({folder, "-o"}, output);
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    inputs_.clear();
    outputs_.clear();
  }

  const std::string* input_that_is(const std::string& path) {
    const std::lock_guard lock(mutex_);
    for (const Read& input : inputs_)
      if (is_same(path, input.path, &input.about)) return &input.path;
    return nullptr;
  }

 private:
  struct Read {
    std::string path;
    struct stat about;
  };
  struct Written {
    std::string path, option;
  };

  [[noreturn]] static void refuse_to_overwrite(const Written& output, const std::string& input) {
    throw Error(
        ErrorKind::usage, output.option + " names a file that is read",
        base::shortened(output.option + " " + output.path) + ", read as " + base::shortened(input),
        "give " + output.option + " another file");
  }
  [[noreturn]] static void refuse_both(const Written& a, const Written& b) {
    throw Error(ErrorKind::usage, a.option + " and " + b.option + " name one file",
                base::shortened(a.option + " " + a.path + " " + b.option + " " + b.path),
                "give each a file of its own");
  }

  std::mutex mutex_;
  std::vector<Read> inputs_;
  std::vector<Written> outputs_;
};

FilesInUse& files_in_use() {
  static FilesInUse files;
  return files;
}

}  // namespace

void watch_inputs() {
  base::set_input_observer([](const std::string& path, const struct stat& about) {
    if (S_ISREG(about.st_mode)) files_in_use().add_input(path, about);
  });
}

void forget_files() {
  files_in_use().forget();
}

void check_folder(const std::string& folder, const std::vector<std::string>& endings) {
  files_in_use().check_folder(folder);
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    for (const std::string& ending : endings) {
      if (!name.ends_with(ending)) continue;
      const std::string* input = files_in_use().input_that_is(entry->path().string());
      if (input == nullptr) continue;
      throw Error(ErrorKind::usage, "the folder of -o has a file that is read and would be written",
                  base::shortened(entry->path().string()) + ", read as " + base::shortened(*input),
                  "give -o another folder");
    }
  }
}

Output::Output(std::string path, std::string option)
    : path_(std::move(path)), option_(std::move(option)) {
  if (is_stdout()) return;
  struct stat about = {};
  const bool exists = ::stat(path_.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) fail(std::strerror(EISDIR));
  if (exists ? ::access(path_.c_str(), W_OK) != 0
             : !base::folder_is_writable(base::resolved_path(path_)))
    fail(std::strerror(errno));
  files_in_use().add_output(path_, option_);
}

bool Output::is_stdout() const {
  return path_ == kStdout;
}

void Output::write(std::string_view text) const {
  if (is_stdout()) {
    // A reader that has gone away has seen enough.
    if (!base::write_all(STDOUT_FILENO, text.data(), text.size()) && errno != EPIPE)
      fail(std::strerror(errno));
    return;
  }
  files_in_use().add_output(path_, option_);
  base::write_file(path_, text, messages_of(path_, option_));
}

void Output::fail(const std::string& reason) const {
  base::fail_to_write(is_stdout() ? "standard output" : path_, messages_of(path_, option_), reason);
}

}  // namespace scalecalc::cli
