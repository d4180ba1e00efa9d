#include "cli/app.hpp"

#include <signal.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/deadline.hpp"
#include "base/stop.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "cli/build_info.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/parse_errors.hpp"
#include "cli/plugins.hpp"
#include "scalecalc/tensor.hpp"

namespace scalecalc::cli {
namespace {

constexpr char kDescription[] =
    "How signals, gradients and steps scale in deep networks: derived, computed, and checked.";

/// The command that the first word names, so that the options of no other are made, which take as
/// long as its answer. Empty where that is none, and of those that show what others have.
std::string_view command_alone(int argc, const char* const* argv, Commands commands) {
  constexpr std::string_view kShowOthers[] = {"list", "schema", "help", "completion"};
  const std::string_view word = argc > 1 ? argv[1] : "";
  const auto is_word = [&](const auto& name) { return word == name; };
  if (std::any_of(std::begin(kShowOthers), std::end(kShowOthers), is_word)) return {};
  for (const Registered& command : commands)
    if (word == command.name) return word;
  return {};
}

/// Rules of attention make the same large matrices again for every layer: what they free stays with
/// the process, whose pages the kernel would have to clear each time otherwise (half of the time of
/// a model with ALiBi at 2048 tokens).
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kept = 1 << 28;
  mallopt(M_MMAP_THRESHOLD, kept);
  mallopt(M_TRIM_THRESHOLD, kept);
#endif
}

int report_error(const Error& error, report::Format format) {
  std::fprintf(stderr, "scalecalc: %s\n", base::printable(error.what()).c_str());
  const std::string text = report::print_error(format, error);
  try {
    if (!text.empty()) Output().write(text);
  } catch (const Error&) {
    return Error(ErrorKind::fault, "").exit_code();
  }
  return error.exit_code();
}

int run_resolved(Context& context) {
  context.resolve();
  context.start_progress(context.command_name);
  const int code = context.command();
  if (base::were_threads_refused())
    context.note("the system refused threads (a limit on processes or memory): fewer did the work");
  return code;
}

/// Does the command's work as one of the ranks; the code is that of the first. The others succeed,
/// so that mpirun leaves the first the time to say what is wrong.
int share_command(Context& context, Ranks& ranks) {
  context.set_ranks(&ranks);
  int code = 0;
  ranks.gather([&] {
    code = run_resolved(context);
    return std::string();
  });
  return context.launch().is_first() ? code : 0;
}

int run_on_ranks(Context& context) {
  if (!context.runs_on_all || context.launch().size == 1) {
    if (!context.launch().is_first()) return 0;
    return run_resolved(context);
  }
  std::unique_ptr<Ranks> ranks;
  try {
    ranks = start_ranks(context.launch());
  } catch (const Error& error) {
    if (context.launch().is_first()) throw;
    // Ends the job; the first says why, where it meets the same.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return error.exit_code();
  }
  return share_command(context, *ranks);
}

int run_parsed(CLI::App& app, Context& context, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    if (context.launch().is_first())
      context.show(help_text(help_page(chosen.empty() ? app : *chosen.front())));
    return 0;
  } catch (const CLI::CallForVersion&) {
    if (context.launch().is_first()) Output().write(version_text());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw describe(error);
  }
  check_parsed(app);
  return run_on_ranks(context);
}

}  // namespace

CLI::App* add_command(CLI::App& app, Context& context, const CommandInfo& info, Run run) {
  auto command = std::make_shared<Command>(info.summary, info.name);
  command->examples = info.examples;
  command->takes_lists = info.lists.has_value();
  command->needs_lists = info.lists && info.lists->least > 1;
  command->form = info.form;
  command->allow_extras();
  context.add_options_to(command.get(), info.uses);
  Run one = [&context, run = std::move(run)] {
    context.resolve_run();
    return run();
  };
  command->callback([&context, info, command = command.get(), run = std::move(one)] {
    context.command = run;
    if (info.lists)
      context.command = [&context, lists = *info.lists, command, run] {
        return run_combinations(*command, lists, context, run);
      };
    context.command_name = info.name;
    context.runs_on_all = info.runs_on == RunsOn::all;
    context.prepare = info.prepare;
    if (info.uses.folder) context.write_into_folder();
  });
  return app.add_subcommand(command);
}

int run_command(Context& context, int argc, const char* const* argv, Commands commands,
                std::string_view only) {
  const auto fault = [](const std::string& message, const std::string& hint) {
    return Error(ErrorKind::fault, message, "", hint);
  };
  try {
    Command app(kDescription, "scalecalc");
    app.examples = {"scalecalc deepnorm --layers 1000 --optimizer adam",
                    "scalecalc propagate mlp-relu --layers 50"};
    app.require_subcommand(0, 1);
    app.allow_extras();
    app.set_version_flag("--version", report::version(),
                         "print the version, what it was built from and with, and stop");
    context.add_options_to(&app, kPassesAlongPaths);
    for (const Registered& command : commands)
      if (only.empty() || only == command.name) command.add(app, context);
    return run_parsed(app, context, argc, argv);
  } catch (const Error&) {
    throw;
  } catch (const base::DeadlinePassed& passed) {
    throw Error(ErrorKind::input, std::string("the answer was ") + passed.what(), "--time-limit",
                "allow more, or ask for less");
  } catch (const base::Stopped&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw fault("out of memory", "ask for a smaller network or fewer threads");
  } catch (const std::system_error& error) {
    throw fault("the system refused: " + base::shortened(error.what(), 160),
                "check permissions and limits");
  } catch (const std::exception& error) {
    throw fault("unexpected failure: " + base::shortened(error.what(), 160),
                "this is a defect: please report the command line");
  }
}

int run(int argc, char** argv, Commands commands) {
  keep_freed_memory();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // the write that is too long fails
  install_interrupt_handler();
  watch_inputs();
  use_cuda_plugin(plugin_paths("scalecalc_cuda.so"));
  Context context;
  if (std::find(argv, argv + argc, std::string_view("--no-pager")) != argv + argc)
    context.refuse_pager();
  try {
    return run_command(context, argc, argv, commands, command_alone(argc, argv, commands));
  } catch (const Error& error) {
    context.clear_progress();
    if (!context.launch().is_first()) return 0;
    return report_error(error, requested_format(argc, argv));
  }
}

}  // namespace scalecalc::cli
