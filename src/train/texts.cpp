#include "train/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::train_room {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMostFiles = 10000;

/// The regular files of a folder and those in it, in the order of their names. Links are not
/// followed: a folder cannot hold itself.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failure;
  fs::recursive_directory_iterator entry(folder, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    const bool is_hidden = entry->path().filename().string().starts_with('.');
    std::error_code unknown;
    if (is_hidden && entry->is_directory(unknown)) entry.disable_recursion_pending();
    if (is_hidden || entry->is_symlink(unknown) || !entry->is_regular_file(unknown)) continue;
    files.push_back(entry->path().string());
    if (files.size() > kMostFiles)
      throw Error(ErrorKind::input, fmt::format("over {} files in the folder", kMostFiles),
                  base::shortened(folder), "give a folder of texts alone");
  }
  if (failure || files.empty())
    throw Error(ErrorKind::input, failure ? "the folder cannot be read" : "no files in the folder",
                base::shortened(folder), "give a folder of texts, or a text file");
  std::ranges::sort(files);
  return files;
}

void append_file(const std::string& path, std::string& text) {
  text += base::read_input(
      path, {"text file", "give the path of a text file", kMostBytes - text.size(), true});
}

}  // namespace

std::string read_texts(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code unknown;
    if (!fs::is_directory(path, unknown)) {
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> inside = files_of(path);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  std::string text;
  for (const std::string& file : files) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    append_file(file, text);
  }
  return text;
}

std::string name_of_texts(const std::vector<std::string>& paths) {
  fs::path first(paths.empty() ? "" : paths.front());
  if (!first.has_filename()) first = first.parent_path();
  const std::string name = base::shortened(first.filename().string());
  return paths.size() < 2 ? name : fmt::format("{} and {} more", name, paths.size() - 1);
}

}  // namespace scalecalc::train_room
