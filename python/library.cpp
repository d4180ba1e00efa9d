#include "library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>

#include "base/plugin.hpp"
#include "base/stop.hpp"
#include "cli/app.hpp"
#include "cli/call.hpp"
#include "cli/plugins.hpp"
#include "scalecalc/symbolic.hpp"

namespace scalecalc::package {
namespace {

/// Plug-ins are packages beside this one: scalecalc_cuda. They are looked for by this library's own
/// file, as the process that has it may be any program.
void name_plugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    base::set_plugin_remedy("scalecalc_cuda.so",
                            std::string("pip install scalecalc-cuda==") + version() + " brings it");
    std::filesystem::path folder;
    Dl_info file;
    if (::dladdr(reinterpret_cast<void*>(&version), &file) != 0 && file.dli_fname != nullptr)
      folder = std::filesystem::path(file.dli_fname).lexically_normal().parent_path().parent_path();
    cli::use_plugin_folders({folder / "scalecalc_cuda"});
  });
}

}  // namespace

cli::Reply call(const std::vector<std::string>& words, const Progress& progress) {
  name_plugins();
  return cli::call(words, progress);
}

void request_stop() noexcept {
  base::request_stop();
}

void allow_work() noexcept {
  base::allow_work();
}

std::string latex(const std::string& formula) {
  return to_string(parse(formula), Notation::latex);
}

const char* version() {
  return report::version();
}

int run(int argc, char** argv) {
  name_plugins();
  return cli::run(argc, argv, cli::commands());
}

}  // namespace scalecalc::package
