#include "base/file_writer.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

TEST_CASE("a link may name what is not there yet") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path / "below");
  fs::create_symlink("below/file", folder.path / "link");
  fs::create_symlink("../link", folder.path / "below/other");
  CHECK(resolved_path(folder / "below/other") == resolved_path(folder / "below/file"));
  write_file(folder / "below/other", "text");
  CHECK(text_of(folder / "below/file") == "text");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(fs::is_symlink(folder.path / "below/other"));
  fs::create_symlink("loop", folder.path / "loop");
  CHECK(error_of(folder / "loop").find("cannot write the file") == 0);
}

TEST_CASE("the whole mode of a file that is replaced is kept under any umask, and its owner") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  for (const mode_t umask : {mode_t{0}, mode_t{022}, mode_t{077}}) {
    for (const mode_t mode : {0600, 0644, 0666, 0664, 0755, 0777, 04755, 02750, 01666}) {
      for (const Durability durability : {Durability::visible, Durability::on_disk}) {
        CAPTURE(umask);
        CAPTURE(mode);
        write_file(path, "old");
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        const bool is_root = ::geteuid() == 0;
        if (is_root) REQUIRE(::chown(path.c_str(), 1234, 4321) == 0);
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        const mode_t before = ::umask(umask);
        FileWriter file(path, {}, durability);
        file.write("new");
        file.commit();
        ::umask(before);
        struct stat about = {};
        REQUIRE(::stat(path.c_str(), &about) == 0);
        CHECK((about.st_mode & 07777) == mode);
        if (is_root) CHECK(about.st_uid == 1234);
        if (is_root) CHECK(about.st_gid == 4321);
        CHECK(text_of(path) == "new");
      }
    }
  }
}

/// The status of a process that writes files and then meets the signal.
int status_after(int signal, const TemporaryFolder& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct sigaction action = {};
    action.sa_handler = [](int number) {
      remove_temporary_files();
      ::_exit(128 + number);
    };
    ::sigaction(signal, &action, nullptr);
    // Some are done, some given up, some under way when the signal comes.
    for (int i = 0; i < 3; ++i) write_file(folder / "done" + std::to_string(i), "text");
    { FileWriter given_up(folder / "given up"); }
    FileWriter first(folder / "old"), second(folder / "state", {}, Durability::on_disk);
    FileWriter third(folder / "third");
    first.write("half");
    second.write("half");
    third.commit();
    ::raise(signal);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("who ends by a signal leaves no temporary file") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    write_file(folder / "old", "old");
    CHECK(status_after(signal, folder) == 128 + signal);
    CHECK(text_of(folder / "old") == "old");
    CHECK(files_in(folder.path) == 5);  // old, three that are done, third
  }
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
