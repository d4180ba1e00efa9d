#include "cli/completion/scripts.hpp"

namespace scalecalc::cli {

std::string command_name(const HelpPage& page) {
  return page.name.substr(page.name.find_last_of(' ') + 1);
}

std::string quoted_for_shell(const std::string& text) {
  std::string safe = "'";
  for (const char letter : text)
    safe += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return safe + "'";
}

std::string names_text(const ValueType& type) {
  std::string text;
  if (!type.names) return text;
  for (const std::string& name : type.names()) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace scalecalc::cli
