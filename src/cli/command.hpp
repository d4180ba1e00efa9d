#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

#include "cli/value_type.hpp"

namespace scalecalc::cli {

/// The program or one of its commands, with what help, completion and man pages show beside what
/// the parser knows.
class Command : public CLI::App {
 public:
  using CLI::App::App;

  std::vector<std::string> examples;  ///< lines of a shell that run in an empty folder
  std::map<const CLI::Option*, ValueType> types;
  std::map<const CLI::Option*, std::string> defaults;  ///< as text, where there is one
};

}  // namespace scalecalc::cli
