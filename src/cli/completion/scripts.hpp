#pragma once

#include <string>
#include <vector>

#include "cli/help.hpp"

/// Completion scripts, from what help knows: the program's page first, then those of its commands.
namespace scalecalc::cli {

std::string bash_completion(const std::vector<HelpPage>& pages);
std::string zsh_completion(const std::vector<HelpPage>& pages);
std::string fish_completion(const std::vector<HelpPage>& pages);

/// The last word of a page's name: "verify".
std::string command_name(const HelpPage& page);
/// Single-quoted for a shell of the sh family.
std::string quoted_for_shell(const std::string& text);
/// Names with a blank between them; empty where there are none.
std::string names_text(const ValueType& type);

}  // namespace scalecalc::cli
