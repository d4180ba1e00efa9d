#pragma once

#include "scalecalc/report.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

/// What can be wrong with a command line before any command looks at it, said in our words.
namespace scalecalc::cli {

/// What the parser itself refuses.
Error describe(const CLI::ParseError& error);
/// Throws Error(usage) for words that no command, option or argument took, for options without
/// their value, and when there is no command.
void check_parsed(const CLI::App& app);
/// The format of an error: JSON when the command line asks for it, however wrong the rest is.
report::Format requested_format(int argc, char** argv);

}  // namespace scalecalc::cli
