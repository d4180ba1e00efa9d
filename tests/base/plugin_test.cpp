#include "base/plugin.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "temporary_folder.hpp"

namespace scalecalc::base {
namespace {

std::string built(const std::string& name) {
  return std::string(SCALECALC_TEST_PLUGINS) + "/plugin_" + name + ".so";
}
Plugin opened(const std::vector<std::string>& paths) {
  return open_plugin(paths, PluginScope::own);
}

/// The working directory, for as long as this lives.
class Inside {
 public:
  explicit Inside(const std::filesystem::path& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~Inside() { std::filesystem::current_path(before_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::filesystem::path before_;
};

}  // namespace

TEST_CASE("plugin: the first that is there is opened, by its own version") {
  const Plugin plugin = opened({"/nowhere/plugin.so", built("right"), built("other_version")});
  REQUIRE(plugin.table != nullptr);
  CHECK(plugin.table->version == std::string(plugin_version()));
  CHECK(plugin.path == built("right"));
  CHECK(plugin.why_none.empty());
}

TEST_CASE("plugin: none, another version, no plug-in and no library are told apart") {
  const Plugin none = opened({"/nowhere/plugin.so", "/nowhere/lib/plugin.so"});
  CHECK(none.table == nullptr);
  CHECK(none.path.empty());
  CHECK(none.why_none == "no plug-in plugin.so");
  CHECK(opened({}).why_none == "no plug-in");

  const std::string own = plugin_version();
  const Plugin other = opened({built("other_version"), built("right")});
  CHECK(other.table == nullptr);
  CHECK(other.path == built("other_version"));
  CHECK(other.why_none ==
        built("other_version") + " is of scalecalc 0.0.7-cafecafe, this is " + own);
  CHECK(opened({built("no")}).why_none ==
        built("no") + " is no plug-in of scalecalc, this is " + own);

  const testing::TemporaryFolder folder;
  std::ofstream(folder / "text.so") << "no library, and more than the 64 bytes of an ELF header, "
                                       "so that it is read as one and refused";
  const Plugin text = opened({folder / "text.so"});
  CHECK(text.table == nullptr);
  CHECK(text.path == folder / "text.so");
  CHECK(text.why_none == folder / "text.so" + " cannot be opened: invalid ELF header");
}

TEST_CASE("plugin: what brings it is said where it cannot be used") {
  const testing::TemporaryFolder folder;
  const std::string remedied = folder / "remedied.so", plain = folder / "plain.so";
  set_plugin_remedy("remedied.so", "install it");
  CHECK(opened({remedied}).why_none == "no plug-in remedied.so: install it");
  CHECK(opened({plain}).why_none == "no plug-in plain.so");
  std::ofstream(remedied) << "short";
  CHECK(opened({remedied}).why_none == remedied + " cannot be opened: file too short: install it");
  std::filesystem::remove(remedied);
  std::filesystem::copy_file(built("right"), remedied);
  CHECK(opened({remedied}).why_none.empty());
}

TEST_CASE("plugin: nothing is opened from the working directory") {
  const testing::TemporaryFolder folder;
  std::filesystem::copy_file(built("right"), folder / "plugin.so");
  const Inside inside(folder.path);
  for (const char* name : {"plugin.so", "./plugin.so", ""}) {
    CAPTURE(name);
    const Plugin plugin = opened({name});
    CHECK(plugin.table == nullptr);
    CHECK(plugin.path.empty());
  }
  CHECK(opened({folder / "plugin.so"}).table != nullptr);
}

}  // namespace scalecalc::base
