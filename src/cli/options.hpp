#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/value_type.hpp"
#include "scalecalc/symbolic.hpp"

namespace CLI {
class App;
}

/// Values of options from their text. Each throws Error(input) that says what would be right.
namespace scalecalc::cli {

/// Adds options to a command, or to the program: the only way that a command meets the parser. The
/// variables must outlive the parsing; what is not given stays as it is. A default is in the help
/// where the variable begins with one; another is told by `help`.
struct Options {
  CLI::App* app;
  std::string group = {};  ///< a heading of the help

  /// One text, kept as it is given.
  void text(const std::string& names, std::string& value, const ValueType& type,
            const std::string& help) const;
  void text(const std::string& names, std::optional<std::string>& value, const ValueType& type,
            const std::string& help) const;
  /// One text, or a list of them: "12,24", of an argument several words. Each value makes a run of
  /// a command that takes lists (CommandInfo::lists), with `value` set; of another command as
  /// text().
  void axis(const std::string& names, std::string& value, const ValueType& type,
            const std::string& help) const;
  /// Any number of words, one after the other.
  void texts(const std::string& names, std::vector<std::string>& values, const ValueType& type,
             const std::string& help) const;
  /// One text each time the option is given.
  void repeated(const std::string& names, std::vector<std::string>& values, const ValueType& type,
                const std::string& help) const;
  /// "true" when it is given alone, else the word behind its =: an axis, as axis() has it.
  void flag_axis(const std::string& names, std::string& value, const std::string& help) const;
  /// True when it is given; `given` is called then.
  void flag(const std::string& names, bool& value, const std::string& help,
            const std::function<void()>& given = {}) const;
};

/// An integer written with digits alone: "--layers must be an integer from 1 to 1000000
/// (got 'abc'); for example --layers 12".
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t min,
                           std::int64_t max, const std::string& example);
/// A finite number within [min, max].
double parse_number(const std::string& option, const std::string& text, double min, double max,
                    const std::string& example);
/// Of two texts joined by + each, "0.02+0.003"; of one alone it twice. The + of an exponent, 1e+3,
/// joins nothing.
std::pair<std::string, std::string> each_of_two(const std::string& text);
/// --layers of one network.
std::int64_t parse_layers(const std::string& option, const std::string& text);
/// Different depths in rising order: "2,8,32", or "2:128:x2" for 2, 4, 8, ... 128.
std::vector<std::int64_t> parse_depths(const std::string& option, const std::string& text);
/// A formula in these symbols and nothing else.
Expr parse_formula(const std::string& option, const std::string& text,
                   const std::vector<std::string>& symbols);
/// One of `names`, as it is written there.
std::string parse_choice(const std::string& option, const std::string& text,
                         const std::vector<std::string>& names);

}  // namespace scalecalc::cli
