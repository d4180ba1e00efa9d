#include "base/input_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "scalecalc/error.hpp"
#include "temporary_folder.hpp"

namespace scalecalc::base {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

const InputKind kRegular = {"list", "give a list", 1000};
const InputKind kStream = {"list", "give a list", 1000, true};

std::string error_of(const std::string& path, const InputKind& kind) {
  try {
    read_input(path, kind);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.hint() == "give a list");
    return error.message();
  }
  return "no error";
}

/// A pipe by name, for the shell's <(...).
struct Pipe {
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  std::string path() const { return "/dev/fd/" + std::to_string(ends[0]); }
  int ends[2] = {-1, -1};
};

TEST_CASE("a file is read whole, up to its limit") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  for (const std::size_t size : {0, 1, 999, 1000}) {
    std::ofstream(path) << std::string(size, 'x');
    CHECK(read_input(path, kRegular) == std::string(size, 'x'));
    CHECK(read_input(path, kStream) == std::string(size, 'x'));
  }
  std::ofstream(path) << std::string(1001, 'x');
  CHECK(error_of(path, kRegular) == "a list may have at most 1000 bytes");
  fs::create_symlink("file", folder.path / "link");
  std::ofstream(path) << "text";
  CHECK(read_input(folder / "link", kRegular) == "text");
  std::ofstream(path) << std::string(1 << 20, 'y');
  CHECK(read_input(path, {"list", ""}).size() == 1 << 20);
}

TEST_CASE("nothing that has a name stops the reader") {
  const TemporaryFolder folder;
  CHECK(error_of(folder / "none", kRegular) == "no such list");
  CHECK(error_of("", kRegular) == "no such list");
  CHECK(error_of(std::string("a\0b", 3), kRegular) == "no such list");
  CHECK(error_of(folder.path.string(), kStream) == "a directory is not a list");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error_of(folder / "pipe", kRegular) == "a pipe is not a list");
  CHECK(read_input(folder / "pipe", kStream).empty());  // nobody writes there
  for (const char* device : {"/dev/zero", "/dev/urandom", "/dev/full"}) {
    CHECK(error_of(device, kRegular) == "a device is not a list");
    CHECK(error_of(device, kStream) == "a list may have at most 1000 bytes");
    CHECK(error_of(device, {"list", "give a list", UINT64_MAX, true}) ==
          "a list from a device may have at most 16777216 bytes");
  }
  CHECK(read_input("/dev/null", kStream).empty());
  const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {AF_UNIX, {}};
  (folder / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(error_of(folder / "socket", kStream) == "a socket is not a list");
  ::close(listening);
  fs::create_symlink("loop", folder.path / "loop");
  CHECK(error_of(folder / "loop", kStream).starts_with("cannot read the list: Too many levels"));
  std::ofstream(folder / "file") << "text";
  CHECK(error_of(folder / "file/below", kStream) == "no such list");
}

TEST_CASE("a stream is waited for while its writer writes, and not beyond its limit") {
  Pipe pipe;
  std::thread writer([&] {
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      CHECK(::write(pipe.ends[1], "line\n", 5) == 5);
    }
    ::close(pipe.ends[1]);
    pipe.ends[1] = -1;
  });
  CHECK(read_input(pipe.path(), kStream) == "line\nline\nline\nline\nline\n");
  writer.join();
  Pipe full;
  CHECK(::write(full.ends[1], std::string(2000, 'x').c_str(), 2000) == 2000);
  CHECK(::fcntl(full.ends[1], F_GETFL) >= 0);
  ::close(full.ends[1]);
  full.ends[1] = -1;
  CHECK(error_of(full.path(), kStream) == "a list may have at most 1000 bytes");
}

TEST_CASE("a line is read in blocks, and what follows it next") {
  const TemporaryFolder folder;
  // Longer than a block of 64 KiB.
  const std::string line(100'000, 'x'), rest = "rest\n";
  std::ofstream(folder / "file") << line << "\n" << rest;
  InputFile file(folder / "file", {"list", ""});
  CHECK(file.read_line(200'000) == line);
  CHECK(file.read_rest() == rest);
  CHECK(InputFile(folder / "file", {"list", ""}).read_line(99'999) == std::nullopt);
  std::ofstream(folder / "endless") << "no end";
  CHECK(InputFile(folder / "endless", {"list", ""}).read_line(100) == std::nullopt);
}

TEST_CASE("who watches sees each file before it is read, and may refuse it") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "text";
  std::string seen;
  set_input_observer([&](const std::string& path, const struct stat& about) {
    seen = path + " " + std::to_string(about.st_size);
    if (path.ends_with("link")) throw Error(ErrorKind::usage, "not this one");
  });
  CHECK(read_input(folder / "file", kRegular) == "text");
  CHECK(seen == folder / "file" + " 4");
  fs::create_symlink("file", folder.path / "link");
  CHECK_THROWS_WITH_AS(read_input(folder / "link", kRegular), "not this one", Error);
  set_input_observer({});
  CHECK(read_input(folder / "link", kRegular) == "text");
}

}  // namespace
}  // namespace scalecalc::base
