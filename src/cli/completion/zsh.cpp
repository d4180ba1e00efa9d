#include "cli/completion/scripts.hpp"

namespace scalecalc::cli {
namespace {

/// Inside a specification of _arguments a colon ends a part, and brackets a description.
std::string specified(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == ':' || letter == '[' || letter == ']' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return safe;
}

/// ":message:action" of a value.
std::string action_of(const ValueType& type) {
  const std::string names = names_text(type);
  std::string action;
  if (type.is_list && !names.empty())
    action = "_values -s , name " + names;
  else if (!names.empty() && type.path != ValueType::Path::none)
    action = "{_alternative \"names:name:(" + names + ")\" \"files:file:_files\"}";
  else if (!names.empty())
    action = "(" + names + ")";
  else if (type.path != ValueType::Path::none)
    action = type.path == ValueType::Path::folder ? "_files -/" : "_files";
  return ":" + specified(type.placeholder) + ":" + action;
}

std::string specifications(const HelpPage& page) {
  std::string text;
  for (const HelpGroup& group : page.groups)
    for (const HelpOption& option : group.options) {
      if (option.is_argument) {
        text += " \\\n    " +
                quoted_for_shell((group.options.size() == 1 ? "*" : "") + action_of(option.type));
        continue;
      }
      for (const std::string& name : option.names)
        text += " \\\n    " + quoted_for_shell(name + "[" + specified(option.help) + "]" +
                                               (option.takes_value ? action_of(option.type) : ""));
    }
  return text;
}

}  // namespace

std::string zsh_completion(const std::vector<HelpPage>& pages) {
  std::string text =
      "#compdef scalecalc\n"
      "# Completion of scalecalc for zsh; written by scalecalc completion zsh.\n";
  for (const HelpPage& page : pages)
    text += "_scalecalc_of_" + command_name(page) + "() {\n  _arguments" + specifications(page) +
            (page.commands.empty() ? "" : " \\\n    '*:command:_scalecalc_commands'") + "\n}\n";
  text += "_scalecalc() {\n  local -a commands\n  local word found index=2\n  commands=(\n";
  for (const auto& [name, summary] : pages.front().commands)
    text += "    " + quoted_for_shell(name + ":" + specified(summary)) + "\n";
  text +=
      "  )\n"
      "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    found=\"${commands[(r)$word:*]}\"\n"
      "    if [[ -n \"$found\" ]]; then\n"
      "      words=(\"${(@)words[index,-1]}\")\n"
      "      (( CURRENT -= index - 1 ))\n"
      "      \"_scalecalc_of_$word\"\n"
      "      return\n"
      "    fi\n"
      "    (( index += 1 ))\n"
      "  done\n"
      "  _scalecalc_of_scalecalc\n"
      "}\n"
      "_scalecalc_commands() { _describe command commands; }\n"
      "if [[ \"$funcstack[1]\" == _scalecalc ]]; then _scalecalc \"$@\"; else compdef _scalecalc "
      "scalecalc; fi\n";
  return text;
}

}  // namespace scalecalc::cli
