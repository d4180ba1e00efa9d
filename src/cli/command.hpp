#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/json_form.hpp"
#include "cli/value_type.hpp"

namespace scalecalc::cli {

/// An option or an argument that takes several values: each makes a run of the command, and the
/// results stand side by side.
struct Axis {
  std::string name;           ///< of the field in results: "kv_heads"
  std::string option;         ///< "--kv-heads"; of an argument "MODEL"
  const CLI::Option* parsed;  ///< its words as they were given
  std::string* value;         ///< what a run of the command reads
};

/// The program or one of its commands, with what help, completion and man pages show beside what
/// the parser knows.
class Command : public CLI::App {
 public:
  using CLI::App::App;

  /// What `add` adds by add_option or add_flag. These compare a new option's names with those of
  /// each one before it, which takes a command of 150 options a millisecond: here they meet none,
  /// and names are compared in a set.
  template <class Add>
  CLI::Option* adding(const Add& add) {
    std::vector<CLI::Option_p> before = std::move(options_);
    options_.clear();
    CLI::Option* const made = add();
    before.push_back(std::move(options_.back()));
    options_ = std::move(before);
    for (const auto* names : {&made->get_lnames(), &made->get_snames()})
      for (const std::string& name : *names)
        if (!names_.insert(name).second)
          throw CLI::OptionAlreadyAdded("added option matched existing option name: " + name);
    return made;
  }

  std::vector<std::string> examples;  ///< lines of a shell that run in an empty folder
  JsonForm (*form)() = nullptr;       ///< of --format json; none: it prints a text alone
  std::map<const CLI::Option*, ValueType> types;
  std::map<const CLI::Option*, std::string> defaults;  ///< as text, where there is one
  bool takes_lists = false;  ///< Options::axis declares axes; of another command it is text()
  bool needs_lists = false;  ///< one value of each is not enough
  std::vector<Axis> axes;

 private:
  std::set<std::string> names_;  ///< of options, without their dashes
};

/// "scalecalc deepnorm"; of the program "scalecalc".
inline std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : command.get_parent()->get_name() + " " + command.get_name();
}

}  // namespace scalecalc::cli
