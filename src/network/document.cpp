#include "network/document.hpp"

// Compiled in here, so that who links the library needs no shared one for it. Its assertions do not
// hold for every wrong text ("[&a]"): they must neither end the program nor be assumed.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

std::string position(const std::string& name, const toml::source_position& at) {
  return fmt::format("{}:{}:{}", name, at.line, at.column);
}

const char* type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number with a point";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date: return "a date";
    case toml::node_type::time: return "a time";
    case toml::node_type::date_time: return "a date and time";
    case toml::node_type::none: break;
  }
  return "nothing";
}

TomlTable convert(const toml::table& table, const std::string& name);

std::vector<TomlElement> convert(const toml::array& array, const std::string& name) {
  std::vector<TomlElement> elements;
  for (const toml::node& node : array)
    elements.push_back({position(name, node.source().begin), convert(*node.as_table(), name)});
  return elements;
}

TomlEntry convert(const toml::node& node, const std::string& key, const std::string& where,
                  const std::string& name);

std::shared_ptr<const TomlArray> values_of(const toml::array& array, const std::string& name) {
  TomlArray values;
  for (const toml::node& node : array)
    values.elements.push_back(convert(node, "", position(name, node.source().begin), name));
  return std::make_shared<const TomlArray>(std::move(values));
}

TomlEntry convert(const toml::node& node, const std::string& key, const std::string& where,
                  const std::string& name) {
  TomlEntry entry{key, where, type_name(node.type()), 0, 0, {}};
  entry.line = static_cast<int>(node.source().begin.line);
  entry.column = static_cast<int>(node.source().begin.column);
  if (const auto* integer = node.as_integer()) entry.value = integer->get();
  if (const auto* number = node.as_floating_point()) entry.value = number->get();
  if (const auto* boolean = node.as_boolean()) entry.value = boolean->get();
  if (const auto* text = node.as_string()) entry.value = text->get();
  if (const auto* table = node.as_table()) entry.value = convert(*table, name);
  if (node.is_array_of_tables()) {
    entry.type = "an array of tables";
    entry.value = convert(*node.as_array(), name);
  } else if (const auto* array = node.as_array()) {
    entry.value = values_of(*array, name);
  }
  return entry;
}

TomlTable convert(const toml::table& table, const std::string& name) {
  struct Item {
    toml::source_position at;
    TomlEntry entry;
  };
  std::vector<Item> items;
  for (const auto& [key, node] : table)
    items.push_back({key.source().begin, convert(node, std::string(key.str()),
                                                 position(name, key.source().begin), name)});
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.at.line != b.at.line ? a.at.line < b.at.line : a.at.column < b.at.column;
  });
  TomlTable entries;
  for (Item& item : items) entries.push_back(std::move(item.entry));
  return entries;
}

/// Behind the string that begins at `at`, or at the end of its line where it is not closed.
std::size_t behind_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string thrice(3, quote);
  const bool is_long = text.substr(at).starts_with(thrice);
  const std::string_view close = is_long ? std::string_view(thrice) : text.substr(at, 1);
  for (at += close.size(); at < text.size() && (is_long || text[at] != '\n'); ++at) {
    if (text.substr(at).starts_with(close)) return at + close.size();
    if (text[at] == '\\' && quote == '"') ++at;
  }
  return std::min(at, text.size());
}

/// Each part of a key "a.b.c" is a table in a table, and what reads, converts and frees them calls
/// itself for each: a header has as many as layers in layers need, a value's key fewer, since the
/// parser takes 256 inline values in each other, each perhaps behind such a key. Throws
/// Error(input).
void check_keys(std::string_view text, const std::string& file) {
  constexpr int most_of_header = 256, most_of_value = 8;
  int parts = 1, most = most_of_value;
  bool at_line_start = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[' && at_line_start) most = most_of_header;
    if (c == '\n') most = most_of_value;
    at_line_start = c == '\n' || (at_line_start && (c == ' ' || c == '\t'));
    if (c == '.' && ++parts > most) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
      throw Error(ErrorKind::input, fmt::format("a key of more than {} parts", most),
                  fmt::format("{}:{}", file, line), "write lines such as width = 256");
    }
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) parts = 1;
    if (c == '"' || c == '\'')
      at = behind_string(text, at);
    else if (c == '#')
      at = std::min(text.find('\n', at), text.size());
    else
      ++at;
  }
}

}  // namespace

TomlTable parse_toml(std::string_view text, const std::string& name, const std::string& what) {
  const std::string file = base::shortened(name);
  base::check_text(text, name, what);
  check_keys(text, file);
  try {
    return convert(toml::parse(text), file);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::input, "not valid TOML: " + base::shortened(error.description()),
                position(file, error.source().begin), "write lines such as width = 256");
  }
}

}  // namespace scalecalc
