#pragma once

#include <cstdint>
#include <memory>
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
/// Any other array; its elements have no key.
struct TomlArray;

struct TomlEntry {
  std::string key;
  std::string where;         ///< "file:line:column"
  std::string type;          ///< for messages: "an integer", "a string", "an array", ...
  int line = 0, column = 0;  ///< of the value
  /// Empty for dates.
  std::variant<std::monostate, std::int64_t, double, bool, std::string, TomlTable,
               std::vector<TomlElement>, std::shared_ptr<const TomlArray>>
      value;
};
struct TomlArray {
  std::vector<TomlEntry> elements;
};
struct TomlElement {
  std::string where;
  TomlTable entries;
};

/// The root table, in the order of the text; `what` names such files in messages. Throws
/// Error(input) at the line and column.
TomlTable parse_toml(std::string_view text, const std::string& name,
                     const std::string& what = "model file");

}  // namespace scalecalc
