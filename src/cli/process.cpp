#include "cli/process.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "scalecalc/error.hpp"

extern char** environ;

namespace scalecalc::cli {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& where) {
  throw Error(ErrorKind::fault, what, where + ": " + std::strerror(errno));
}

/// A file without a name: no pipe that both sides could wait for.
class Scratch {
 public:
  Scratch() : file_(std::tmpfile()) {
    if (!file_) fail("cannot make a temporary file", "tmpfile");
  }
  int number() const { return ::fileno(file_.get()); }
  void fill(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
        std::fflush(file_.get()) != 0) {
      fail("cannot write a temporary file", "tmpfile");
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
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT}) ::sigaddset(&defaults, signal);
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
  ProcessEnd run(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t process = 0;
    errno =
        ::posix_spawnp(&process, arguments[0], &files_, &attributes_, arguments.data(), environ);
    if (errno == ENOENT) return {};
    if (errno != 0) fail("cannot start a program", words[0]);
    ProcessEnd end;
    end.found = true;
    while (::waitpid(process, &end.status, 0) < 0) {
      if (errno != EINTR) fail("cannot wait for a program", words[0]);
    }
    return end;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

/// Ignores what the keyboard sends to all programs of the terminal.
class KeyboardIgnored {
 public:
  KeyboardIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &interrupt_);
    ::sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~KeyboardIgnored() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGQUIT, &quit_, nullptr);
  }
  KeyboardIgnored(const KeyboardIgnored&) = delete;
  KeyboardIgnored& operator=(const KeyboardIgnored&) = delete;

 private:
  struct sigaction interrupt_ = {}, quit_ = {};
};

}  // namespace

ProcessEnd run_process(const std::vector<std::string>& words, const std::string& input) {
  Scratch in, out, err;
  in.fill(input);
  Spawn spawn;
  spawn.connect(in, STDIN_FILENO);
  spawn.connect(out, STDOUT_FILENO);
  spawn.connect(err, STDERR_FILENO);
  ProcessEnd end = spawn.run(words);
  end.out = out.read();
  end.err = err.read();
  return end;
}

ProcessEnd run_in_foreground(const std::vector<std::string>& words, const std::string& input) {
  Scratch in;
  in.fill(input);
  Spawn spawn;
  spawn.connect(in, STDIN_FILENO);
  const KeyboardIgnored ignored;
  return spawn.run(words);
}

}  // namespace scalecalc::cli
