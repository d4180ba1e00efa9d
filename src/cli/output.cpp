#include "cli/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file_writer.hpp"

namespace scalecalc::cli {
namespace {

constexpr char kStdout[] = "-";

base::WriteMessages messages_of(const std::string& path, const std::string& option) {
  if (path == kStdout)
    return {"cannot write the results", "", "check what standard output is connected to"};
  return {"cannot write the results", option + " ",
          "give " + option + " a path in an existing, writable folder"};
}

}  // namespace

Output::Output(std::string path, std::string option)
    : path_(std::move(path)), option_(std::move(option)) {
  if (is_stdout()) return;
  struct stat about = {};
  const bool exists = ::stat(path_.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) fail(std::strerror(EISDIR));
  if (exists ? ::access(path_.c_str(), W_OK) != 0 : !base::folder_is_writable(path_))
    fail(std::strerror(errno));
}

bool Output::is_stdout() const {
  return path_ == kStdout;
}

void Output::write(std::string_view text) const {
  if (is_stdout()) {
    if (!base::write_all(STDOUT_FILENO, text.data(), text.size())) fail(std::strerror(errno));
    return;
  }
  base::write_file(path_, text, messages_of(path_, option_));
}

void Output::fail(const std::string& reason) const {
  base::fail_to_write(is_stdout() ? "standard output" : path_, messages_of(path_, option_), reason);
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored) ||
         base::resolved_path(a) == base::resolved_path(b);
}

}  // namespace scalecalc::cli
