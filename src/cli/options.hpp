#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scalecalc/symbolic.hpp"

namespace CLI {
class App;
}

/// Values of options from their text. Each throws Error(input) that says what would be right.
namespace scalecalc::cli {

/// Adds options to a command, or to the program: the only way that a command meets the parser. The
/// variables must outlive the parsing; what is not given stays as it is.
struct Options {
  CLI::App* app;
  const char* group = nullptr;  ///< a heading of the help

  /// One text, kept as it is given; `type` stands for it in the help (null: "TEXT").
  void text(const char* names, std::string& value, const char* type, const char* help) const;
  void text(const char* names, std::optional<std::string>& value, const char* type,
            const char* help) const;
  /// Any number of words, one after the other.
  void texts(const char* names, std::vector<std::string>& values, const char* type,
             const char* help) const;
  /// One text each time the option is given.
  void repeated(const char* names, std::vector<std::string>& values, const char* type,
                const char* help) const;
  /// "true" when it is given alone, else the word behind its =.
  void flag(const char* names, std::string& value, const char* help) const;
  /// True when it is given; `given` is called then.
  void flag(const char* names, bool& value, const char* help,
            const std::function<void()>& given = {}) const;
};

/// An integer written with digits alone: "--layers must be an integer from 1 to 1000000
/// (got 'abc'); for example --layers 12".
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t min,
                           std::int64_t max, const std::string& example);
/// A finite number within [min, max].
double parse_number(const std::string& option, const std::string& text, double min, double max,
                    const std::string& example);
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
