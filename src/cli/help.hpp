#pragma once

#include <string>
#include <vector>

#include "cli/value_type.hpp"
#include "scalecalc/report.hpp"

namespace CLI {
class App;
}

/// What a command tells of itself: read once from its options, printed as help, as a man page and
/// in completion scripts.
namespace scalecalc::cli {

struct HelpOption {
  std::vector<std::string> names;  ///< "-o", "--output"; of an argument its placeholder
  bool is_argument = false, is_required = false, takes_value = false;
  bool takes_list = false;  ///< each value is a run of its own
  ValueType type = "";      ///< of a flag, without a placeholder
  std::string help;         ///< with its default, if it has one

  /// "-o, --output FILE"; "--layers N|LIST" where it takes lists.
  std::string heading() const;
};

struct HelpGroup {
  std::string title;
  std::vector<HelpOption> options;
};

struct HelpPage {
  std::string name;  ///< "scalecalc verify"
  std::string summary, usage;
  std::vector<std::string> examples;
  std::vector<HelpGroup> groups;
  std::vector<std::pair<std::string, std::string>> commands;  ///< of the program: name, summary
};

/// Of a command, or of the program.
HelpPage help_page(const CLI::App& command);
/// At most 80 columns wide.
std::string help_text(const HelpPage& page);
/// For man, section 1.
std::string man_page(const HelpPage& page);
report::Document help_document(const HelpPage& page);

}  // namespace scalecalc::cli
