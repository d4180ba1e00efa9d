#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/forms.hpp"
#include "cli/side_by_side/axes.hpp"

/// The program: one register function a command, one folder each.
namespace scalecalc::cli {

/// What a command returns: 0, or 1 when a check failed. Errors are thrown.
using Run = std::function<int()>;

/// Of the processes that mpirun has started.
enum class RunsOn {
  first,  ///< the others have nothing to do
  all,    ///< Context::ranks share the work; the first alone prints
};

/// What the program knows of a command beside its options.
struct CommandInfo {
  std::string name, summary;
  /// Lines of a shell, which run in an empty folder within seconds.
  std::vector<std::string> examples;
  JsonForm (*form)() = nullptr;  ///< of --format json; none: it prints a text alone
  Shared uses = {};              ///< of the options that several commands have
  RunsOn runs_on = RunsOn::first;
  /// Called once everything is parsed and nothing is left over, before the shared options are
  /// looked at.
  std::function<void()> prepare = {};
  /// Of a command whose options take lists, by Options::axis; nothing: they take one value each.
  std::optional<Lists> lists = {};
};

/// Adds a command. `run` is called once everything is parsed and the shared options are known to be
/// right.
CLI::App* add_command(CLI::App& app, Context& context, const CommandInfo& info, Run run);

/// Parses and runs one of these commands; of others than `only`, if it is given, it knows nothing.
/// Returns the exit code. Throws Error, and base::Stopped.
int run_command(Context& context, int argc, const char* const* argv, Commands commands,
                std::string_view only = {});
/// The same as the whole of a process: reports its error.
int run(int argc, char** argv, Commands commands);

}  // namespace scalecalc::cli
