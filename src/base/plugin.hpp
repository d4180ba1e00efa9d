#pragma once

#include <string>
#include <vector>

/// Libraries that the program opens while it runs, so that it starts without them and without what
/// they link (MPI, CUDA).
extern "C" {

/// Every plug-in's one symbol is the function `scalecalc_plugin`, which gives a table that begins
/// with this.
struct ScalecalcPlugin {
  const char* version;  ///< SCALECALC_PLUGIN_VERSION, which it was compiled with
};
}

namespace scalecalc::base {

/// What a plug-in's symbols are seen by: nothing, or the libraries that it opens itself.
enum class PluginScope { own, process };

struct Plugin {
  const ScalecalcPlugin* table = nullptr;  ///< null where there is none that can be used
  std::string path;                        ///< of the file; empty where there is none
  std::string why_none;                    ///< in words, where `table` is null
};

/// Opens the first of `paths` that is there, for as long as the process lives. Paths that are not
/// absolute are passed over: nothing is looked up in the working directory or by the loader's
/// search. A plug-in of another version, or of the same version with another interface, is not
/// used.
Plugin open_plugin(const std::vector<std::string>& paths, PluginScope scope);

/// What is said behind the reason where a plug-in of this file name cannot be used: what brings it.
/// Once for each, before it is opened.
void set_plugin_remedy(const std::string& file, std::string remedy);

/// The version that plug-ins must have: that of the program, and a digest of what they share.
const char* plugin_version();

}  // namespace scalecalc::base
