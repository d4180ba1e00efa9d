#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What goes wrong, and what would be right. Every exception that leaves the library is an Error.
namespace scalecalc {

/// The kind decides the exit code of the program.
enum class ErrorKind {
  usage,       ///< options that do not fit together, or are missing: exit 2
  input,       ///< a value, a file, a formula that cannot be used: exit 2
  unsolvable,  ///< a well-posed question without a solution: exit 1
  fault,       ///< something outside failed (a write, a device): exit 3
};

/// One line for a person: what went wrong, where, and what would be right.
/// `what()` reads "WHAT (WHERE); HINT", leaving out the parts that are empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message, std::string where = {}, std::string hint = {})
      : std::runtime_error(join(message, where, hint)),
        kind_(kind),
        message_(std::move(message)),
        where_(std::move(where)),
        hint_(std::move(hint)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

  /// 1, 2 or 3, as the command line promises.
  int exit_code() const {
    switch (kind_) {
      case ErrorKind::unsolvable: return 1;
      case ErrorKind::fault: return 3;
      case ErrorKind::usage:
      case ErrorKind::input: break;
    }
    return 2;
  }

 private:
  static std::string join(const std::string& message, const std::string& where,
                          const std::string& hint) {
    std::string line = message;
    if (!where.empty()) line += " (" + where + ")";
    if (!hint.empty()) line += "; " + hint;
    return line;
  }

  ErrorKind kind_;
  std::string message_, where_, hint_;
};

/// Names close to `name` by edit distance, nearest first; empty when none is close. Used by every
/// "did you mean".
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& known);
/// The error for a name that is not one of `known`: "unknown WHAT 'name' (where); did you mean 'x'?
/// known: a, b, c". The name is cut at 80 characters.
Error unknown_name(const std::string& what, std::string_view name,
                   const std::vector<std::string>& known, const std::string& where,
                   ErrorKind kind = ErrorKind::input);

}  // namespace scalecalc
