#include <memory>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/completion/scripts.hpp"
#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

struct Shell {
  const char* name;
  std::string (*script)(const std::vector<HelpPage>&);
};
constexpr Shell kShells[] = {
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

std::vector<std::string> shell_names() {
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.push_back(shell.name);
  return names;
}

/// The program's first, then those of its commands.
std::vector<HelpPage> pages_of(const CLI::App& app) {
  std::vector<HelpPage> pages = {help_page(app)};
  for (const CLI::App* command : app.get_subcommands(nullptr)) pages.push_back(help_page(*command));
  return pages;
}

}  // namespace

void register_completion(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, context,
      {.name = "completion",
       .summary = "a script that completes commands, options and names in a shell",
       .examples = {"scalecalc completion bash > scalecalc.bash",
                    "scalecalc completion fish -o scalecalc.fish"},
       .prepare = [&context] { context.take_any_extension(); }},
      [&app, &context, shell] {
        if (shell->empty())
          throw Error(ErrorKind::usage, "for which shell?", "scalecalc completion",
                      "for example scalecalc completion bash");
        const std::string name = parse_choice("scalecalc completion", *shell, shell_names());
        for (const Shell& one : kShells)
          if (one.name == name) context.emit_text(one.script(pages_of(app)));
        return 0;
      });
  const Options add{command};
  add.text("shell", *shell, {"SHELL", shell_names}, alternatives(shell_names()));
}

}  // namespace scalecalc::cli
