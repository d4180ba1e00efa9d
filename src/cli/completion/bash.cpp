#include "cli/completion/scripts.hpp"

namespace scalecalc::cli {
namespace {

/// What completes a value: names, paths, or nothing.
std::string reply_for(const ValueType& type) {
  std::string reply;
  const std::string names = names_text(type);
  if (!names.empty())
    reply += (type.is_list ? "_scalecalc_list " : "_scalecalc_names ") + quoted_for_shell(names);
  if (type.path != ValueType::Path::none) {
    if (!reply.empty()) reply += "; ";
    reply += type.path == ValueType::Path::folder ? "_scalecalc_paths -d" : "_scalecalc_paths -f";
  }
  return reply.empty() ? ":" : reply;
}

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

/// A function that completes what follows one command.
std::string function_of(const HelpPage& page) {
  std::string cases, options, arguments;
  for (const HelpGroup& group : page.groups)
    for (const HelpOption& option : group.options) {
      if (option.is_argument) {
        arguments += "  " + reply_for(option.type) + "\n";
        continue;
      }
      options += (options.empty() ? "" : " ") + joined(option.names, " ");
      if (option.takes_value)
        cases +=
            "    " + joined(option.names, "|") + ") " + reply_for(option.type) + "; return ;;\n";
    }
  return "_scalecalc_of_" + command_name(page) + "() {\n  case \"$prev\" in\n" + cases +
         "  esac\n  case \"$cur\" in\n    -*) _scalecalc_names " + quoted_for_shell(options) +
         "; return ;;\n  esac\n" + (arguments.empty() ? "  :\n" : arguments) + "}\n";
}

}  // namespace

std::string bash_completion(const std::vector<HelpPage>& pages) {
  std::string commands;
  for (const auto& [name, summary] : pages.front().commands)
    commands += (commands.empty() ? "" : " ") + name;
  std::string text =
      "# Completion of scalecalc for bash; written by scalecalc completion bash.\n"
      "_scalecalc_names() { COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\")); }\n"
      "_scalecalc_paths() {\n"
      "  compopt -o filenames 2>/dev/null\n"
      "  local path\n"
      "  while IFS= read -r path; do COMPREPLY+=(\"$path\"); done < <(compgen \"$1\" -- \"$cur\")\n"
      "}\n"
      "# Of names with commas between them the last is completed.\n"
      "_scalecalc_list() {\n"
      "  local before= name\n"
      "  case \"$cur\" in *,*) before=\"${cur%,*},\" ;; esac\n"
      "  for name in $1; do\n"
      "    case \"$before$name\" in \"$cur\"*) COMPREPLY+=(\"$before$name\") ;; esac\n"
      "  done\n"
      "}\n";
  for (const HelpPage& page : pages) text += function_of(page);
  text +=
      "_scalecalc() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  local command= word\n"
      "  COMPREPLY=()\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \" " +
      commands +
      " \" in *\" $word \"*) command=\"$word\"; break ;; esac\n"
      "  done\n"
      "  if [ -n \"$command\" ]; then \"_scalecalc_of_$command\"; return; fi\n"
      "  _scalecalc_of_scalecalc\n"
      "  case \"$cur\" in\n"
      "    -*) ;;\n"
      "    *) [ ${#COMPREPLY[@]} -gt 0 ] || _scalecalc_names " +
      quoted_for_shell(commands) +
      " ;;\n"
      "  esac\n"
      "}\n"
      "complete -F _scalecalc scalecalc\n";
  return text;
}

}  // namespace scalecalc::cli
