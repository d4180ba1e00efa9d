#pragma once

#include <functional>
#include <string>
#include <vector>

namespace scalecalc::cli {

/// What an option or an argument takes, as help, completion and man pages show it.
struct ValueType {
  /// What completes it beside its names.
  enum class Path { none, file, folder };
  using Names = std::function<std::vector<std::string>()>;

  /// `shown` stands for the value in the help: "N", "FILE".
  ValueType(const char* shown, Names known = {}, Path takes = Path::none)
      : placeholder(shown), names(std::move(known)), path(takes) {}
  ValueType(const char* shown, std::vector<std::string> known)
      : ValueType(shown, [known = std::move(known)] { return known; }) {}

  std::string placeholder;
  Names names;  ///< those that the value is read by; empty: there are none
  Path path;
  bool is_list = false;  ///< of names with commas between them
};

/// Several of a type, with commas between them.
ValueType list_of(ValueType type);

/// Types that more than one command takes; their names are the lists that values are read by.
namespace types {
ValueType file();
ValueType folder();
/// A preset or a model file.
ValueType model();
ValueType optimizer();
ValueType placement();
ValueType activation();
ValueType naming();
/// A name, or a file of one.
ValueType parametrization();
}  // namespace types

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& names);

}  // namespace scalecalc::cli
