#include "base/plugin.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

namespace scalecalc::base {
namespace {

/// The reason, without the path that the loader puts before it.
std::string loader_error(const std::string& path) {
  std::string reason = ::dlerror();
  const std::string prefix = path + ": ";
  return reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
}

/// A program with a C++ runtime of its own inside (SCALECALC_STATIC) prepares it for exceptions at
/// its first throw. Those of a plug-in come from the plug-in's copy and are caught by the
/// program's.
void prepare_to_catch() {
  try {
    throw 0;
  } catch (int) {
  }
}

Plugin open_file(const std::string& path, PluginScope scope) {
  const int visible = scope == PluginScope::process ? RTLD_GLOBAL : RTLD_LOCAL;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | visible);
  if (library == nullptr) return {nullptr, path, path + " cannot be opened: " + loader_error(path)};
  prepare_to_catch();
  using Entry = const ScalecalcPlugin*();
  auto* entry = reinterpret_cast<Entry*>(::dlsym(library, "scalecalc_plugin"));
  const ScalecalcPlugin* table = entry == nullptr ? nullptr : entry();
  if (table != nullptr && std::string_view(table->version) == plugin_version()) {
    return {table, path, {}};
  }
  const std::string what = table == nullptr ? path + " is no plug-in of scalecalc"
                                            : path + " is of scalecalc " + table->version;
  ::dlclose(library);
  return {nullptr, path, what + ", this is " + plugin_version()};
}

}  // namespace

const char* plugin_version() {
  return SCALECALC_PLUGIN_VERSION;
}

Plugin open_plugin(const std::vector<std::string>& paths, PluginScope scope) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::path(path).is_absolute()) continue;
    if (std::filesystem::exists(path, ignored)) return open_file(path, scope);
  }
  const std::string name =
      paths.empty() ? "" : " " + std::filesystem::path(paths.front()).filename().string();
  return {nullptr, {}, "no plug-in" + name};
}

}  // namespace scalecalc::base
