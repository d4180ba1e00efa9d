#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// A TOML text as plain values that know where they stand.
namespace scalecalc {

struct TomlEntry;
using TomlTable = std::vector<TomlEntry>;
/// One table of an array of tables.
struct TomlElement;

struct TomlEntry {
  std::string key;
  std::string where;  ///< "file:line:column"
  std::string type;   ///< for messages: "an integer", "a string", "an array", ...
  /// Empty for what no key of a model file takes (other arrays, dates).
  std::variant<std::monostate, std::int64_t, double, bool, std::string, TomlTable,
               std::vector<TomlElement>>
      value;
};
struct TomlElement {
  std::string where;
  TomlTable entries;
};

/// The root table, in the order of the text. Throws Error(input) at the line and column.
TomlTable parse_toml(std::string_view text, const std::string& name);

/// The text of a model file: at most 1 MiB of UTF-8. Throws Error(input).
std::string read_text_file(const std::string& path);
/// Throws Error(input) for a text that is too large or not UTF-8.
void check_text(std::string_view text, const std::string& name);

/// What of a foreign text goes into a message: at most 80 characters, without control characters.
std::string shown(std::string_view text);

}  // namespace scalecalc
