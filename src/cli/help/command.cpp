#include <algorithm>
#include <memory>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"

namespace scalecalc::cli {
namespace {

struct HelpFlags {
  std::string command;
  bool man = false;
};

const CLI::App& chosen(const CLI::App& app, const std::string& name) {
  if (name.empty()) return app;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == name) return *command;
    names.push_back(command->get_name());
  }
  throw unknown_name("command", name, names, "scalecalc help", ErrorKind::usage);
}

}  // namespace

void register_help(CLI::App& app, Context& context) {
  auto flags = std::make_shared<HelpFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "help",
       .summary = "what the program or one of its commands does, with examples",
       .examples = {"scalecalc help verify", "scalecalc help deepnorm --man > deepnorm.1"},
       .form = help_form,
       .prepare = [&context] { context.take_any_extension(); }},
      [&app, &context, flags] {
        const HelpPage page = help_page(chosen(app, flags->command));
        if (flags->man)
          context.emit_text(man_page(page));
        else if (context.format() == report::Format::table)
          context.emit_text(help_text(page));
        else
          context.emit(help_document(page));
        return 0;
      });
  const auto names = [&app] {
    std::vector<std::string> all;
    for (const CLI::App* one : app.get_subcommands(nullptr)) all.push_back(one->get_name());
    return all;
  };
  const Options add{command};
  add.text("command", flags->command, {"COMMAND", names}, "one of them; without it, the program");
  add.flag("--man", flags->man, "as a page for man");
}

}  // namespace scalecalc::cli
