#include "cli/completion/scripts.hpp"

namespace scalecalc::cli {
namespace {

/// Single-quoted for fish, where a backslash escapes a quote.
std::string quoted(const std::string& text) {
  std::string safe = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return safe + "'";
}

std::string values_of(const ValueType& type) {
  const std::string names = names_text(type);
  std::string text;
  if (type.path == ValueType::Path::none) text += " -f";
  if (type.path == ValueType::Path::file) text += " -F";
  if (type.path == ValueType::Path::folder) text += " -f -a '(__fish_complete_directories)'";
  if (!names.empty())
    text += " -a " + quoted(type.is_list ? "(__scalecalc_list " + names + ")" : names);
  return text;
}

/// Of one command; of the program where no command is said yet.
std::string lines_of(const HelpPage& page) {
  const bool is_program = !page.commands.empty();
  const std::string start =
      "complete -c scalecalc -n " +
      quoted(is_program ? "__fish_use_subcommand"
                        : "__fish_seen_subcommand_from " + command_name(page));
  std::string text;
  for (const HelpGroup& group : page.groups)
    for (const HelpOption& option : group.options) {
      std::string line = start;
      for (const std::string& name : option.names) {
        if (name.starts_with("--"))
          line += " -l " + name.substr(2);
        else if (name.starts_with('-'))
          line += " -s " + name.substr(1);
      }
      if (option.takes_value && !option.is_argument) line += " -r";
      if (option.takes_value) line += values_of(option.type);
      if (!option.is_argument) line += " -d " + quoted(option.help);
      text += line + "\n";
    }
  return text;
}

}  // namespace

std::string fish_completion(const std::vector<HelpPage>& pages) {
  std::string text =
      "# Completion of scalecalc for fish; written by scalecalc completion fish.\n"
      "# Of names with commas between them the last is completed.\n"
      "function __scalecalc_list\n"
      "  set -l before (string match -r '.*,' -- (commandline -ct))\n"
      "  for name in $argv\n"
      "    echo \"$before$name\"\n"
      "  end\n"
      "end\n"
      "complete -c scalecalc -f\n";
  for (const auto& [name, summary] : pages.front().commands)
    text += "complete -c scalecalc -n '__fish_use_subcommand' -a " + quoted(name) + " -d " +
            quoted(summary) + "\n";
  for (const HelpPage& page : pages) text += lines_of(page);
  return text;
}

}  // namespace scalecalc::cli
