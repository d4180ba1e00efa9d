#include "base/plugin.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace scalecalc::base {
namespace {

struct Remedies {
  std::mutex mutex;
  std::map<std::string, std::string> by_file;
};
Remedies& remedies() {
  static Remedies own;
  return own;
}

std::string remedy_for(const std::string& file) {
  Remedies& known = remedies();
  const std::lock_guard lock(known.mutex);
  const auto found = known.by_file.find(file);
  return found == known.by_file.end() ? "" : ": " + found->second;
}

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

void set_plugin_remedy(const std::string& file, std::string remedy) {
  Remedies& known = remedies();
  const std::lock_guard lock(known.mutex);
  known.by_file[file] = std::move(remedy);
}

Plugin open_plugin(const std::vector<std::string>& paths, PluginScope scope) {
  if (paths.empty()) return {nullptr, {}, "no plug-in"};
  const std::string file = std::filesystem::path(paths.front()).filename();
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::path(path).is_absolute()) continue;
    if (!std::filesystem::exists(path, ignored)) continue;
    Plugin opened = open_file(path, scope);
    if (opened.table == nullptr) opened.why_none += remedy_for(file);
    return opened;
  }
  return {nullptr, {}, "no plug-in " + file + remedy_for(file)};
}

}  // namespace scalecalc::base
