#include "base/file_writer.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "scalecalc/error.hpp"
#include "temporary_folder.hpp"

namespace scalecalc::base {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string error_of(const std::string& path, const WriteMessages& messages = {}) {
  try {
    write_file(path, "text", messages);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
    return error.what();
  }
  return "no error";
}

TEST_CASE("a file appears complete or not at all") {
  for (const Durability durability : {Durability::visible, Durability::on_disk}) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.txt";
    {
      FileWriter file(path, {}, durability);
      file.write("half");
    }
    CHECK(files_in(folder.path) == 0);
    write_file(path, "old");
    {
      FileWriter file(path, {}, durability);
      file.write("new ");
      file.write("text");
      CHECK(text_of(path) == "old");
      file.commit();
    }
    CHECK(text_of(path) == "new text");
    CHECK(files_in(folder.path) == 1);
  }
}

TEST_CASE("what a killed process has left is used again") {
  const TemporaryFolder folder;
  const std::string path = folder / "state";
  std::ofstream(FileWriter::temporary_name(path)) << "a longer text of another time";
  FileWriter file(path, {}, Durability::on_disk);
  file.write("short");
  file.commit();
  CHECK(text_of(path) == "short");
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("a link goes on naming its file, whose mode stays") {
  const TemporaryFolder folder;
  write_file(folder / "file", "old");
  REQUIRE(::chmod((folder / "file").c_str(), 0640) == 0);
  fs::create_symlink("file", folder.path / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(text_of(folder / "file") == "new");
  struct stat about = {};
  REQUIRE(::stat((folder / "file").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0640);
  CHECK(resolved_path(folder / "link") == fs::canonical(folder.path / "file").string());
}

TEST_CASE("what is no plain file is written in place") {
  CHECK_NOTHROW(write_file("/dev/null", "text"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("what cannot be written says why") {
  const TemporaryFolder folder;
  const std::string missing = folder / "none/file";
  CHECK(error_of(missing) == "cannot write the file (" + missing +
                                 ": No such file or directory); give a path in an existing, "
                                 "writable folder with enough space");
  CHECK(error_of("").starts_with("cannot write the file (: No such file or directory)"));
  CHECK(error_of(std::string("a\0b", 3)).starts_with("cannot write the file (a?b: "));
  CHECK(error_of(folder.path.string(), {"cannot save", "-o ", "try a file"}) ==
        "cannot save (-o " + folder.path.string() + ": Is a directory); try a file");
  CHECK(error_of("/dev/full") ==
        "cannot write the file (/dev/full: No space left on device); give a path in an existing, "
        "writable folder with enough space");
}

TEST_CASE("whether a folder takes files") {
  const TemporaryFolder folder;
  CHECK(folder_is_writable(folder / "file"));
  CHECK_FALSE(folder_is_writable(folder / "none/file"));
  CHECK(errno == ENOENT);
  write_file(folder / "plain", "");
  CHECK_FALSE(folder_is_writable(folder / "plain/file"));
  CHECK(folder_is_writable("file"));
}

}  // namespace
}  // namespace scalecalc::base
