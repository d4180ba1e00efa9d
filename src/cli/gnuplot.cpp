#include "cli/gnuplot.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

extern char** environ;

namespace scalecalc::cli {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  throw Error(ErrorKind::fault, what, "--plot: " + why,
              "install gnuplot (Debian: gnuplot-nox), or take .svg or .gp");
}

/// A file without a name: no pipe that both sides could wait for.
class Scratch {
 public:
  Scratch() : file_(std::tmpfile()) {
    if (!file_) fail("cannot make a temporary file", std::strerror(errno));
  }
  int number() const { return ::fileno(file_.get()); }
  void fill(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
        std::fflush(file_.get()) != 0) {
      fail("cannot write a temporary file", std::strerror(errno));
    }
    std::rewind(file_.get());
  }
  std::string read() {
    std::rewind(file_.get());
    std::string text;
    std::array<char, 65536> block;
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), file_.get())) {
      text.append(block.data(), got);
    }
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

class Spawn {
 public:
  Spawn() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    // This program ignores these signals; what it starts does not.
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::sigaddset(&defaults, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  void connect(const Scratch& scratch, int as) {
    ::posix_spawn_file_actions_adddup2(&files_, scratch.number(), as);
  }
  /// The status it ends with. Throws Error(fault) when it cannot be started.
  int run(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t process = 0;
    const int failure =
        ::posix_spawnp(&process, arguments[0], &files_, &attributes_, arguments.data(), environ);
    if (failure == ENOENT) fail("a .png is drawn by gnuplot, which is not here", "no gnuplot");
    if (failure != 0) fail("cannot start gnuplot", std::strerror(failure));
    int status = 0;
    while (::waitpid(process, &status, 0) < 0) {
      if (errno != EINTR) fail("cannot wait for gnuplot", std::strerror(errno));
    }
    return status;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// What gnuplot prints for a script on its standard input.
std::string output_of(const std::vector<std::string>& words, const std::string& script) {
  Scratch in, out, err;
  in.fill(script);
  Spawn spawn;
  spawn.connect(in, STDIN_FILENO);
  spawn.connect(out, STDOUT_FILENO);
  spawn.connect(err, STDERR_FILENO);
  if (spawn.run(words) != 0) fail("gnuplot failed", base::shortened(err.read(), 200));
  return out.read();
}

}  // namespace

void check_gnuplot() {
  output_of({"gnuplot", "--version"}, "");
}

std::string png_of(const std::string& script, std::size_t panels) {
  constexpr std::size_t kPanel = 380;
  const std::string terminal = fmt::format("set terminal pngcairo size 900,{} font 'sans,10'\n",
                                           kPanel * std::max<std::size_t>(panels, 1));
  const std::string image = output_of({"gnuplot", "-d", "-"}, terminal + script);
  if (!image.starts_with("\x89PNG")) fail("gnuplot drew no image", "its terminal pngcairo");
  return image;
}

}  // namespace scalecalc::cli
