#include <fmt/format.h>

#include "base/text.hpp"
#include "network/document.hpp"
#include "network/model_keys.hpp"

namespace scalecalc {
namespace {

constexpr std::size_t longest_name = 200;
constexpr std::string_view beside = " + ";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/:[]").find(c) != std::string_view::npos;
}

/// The text without its {i} and {j}.
std::string without_indices(std::string_view text) {
  std::string rest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view here = text.substr(i, 3);
    if (here == "{i}" || here == "{j}") {
      i += 2;
    } else {
      rest += text[i];
    }
  }
  return rest;
}

void check_pattern(const std::string& text, const std::string& where) {
  const std::string rest = without_indices(text);
  bool good = !text.empty() && text.size() <= longest_name;
  for (const char c : rest) good = good && is_name_character(c);
  if (good) return;
  throw Error(ErrorKind::input, fmt::format("'{}' cannot name a parameter", base::shortened(text)),
              where,
              fmt::format("a name has 1 to {} letters, digits and . _ - / : [ ], with {{i}} and "
                          "{{j}} for indices",
                          longest_name));
}

/// Of tensors that are left out, of which a last * stands for anything.
void check_ignored(const std::string& text, const std::string& where) {
  const bool is_open = text.ends_with('*');
  if (text != "*") check_pattern(is_open ? text.substr(0, text.size() - 1) : text, where);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(beside); at != std::string::npos; at = text.find(beside, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + beside.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

void read_layout(ModelSpec::Names& names, const TomlEntry& entry) {
  const std::string& layout = text_of(entry);
  if (layout != "out,in" && layout != "in,out")
    throw unknown_name("layout", layout, {"out,in", "in,out"}, entry.where);
  names.in_out = layout == "in,out";
}

/// tied = {"lm_head.weight" = "tok.weight"}.
void read_tied(ModelSpec::Names& names, const TomlEntry& entry) {
  for (const TomlEntry& tie : table_of(entry)) {
    check_pattern(tie.key, tie.where);
    const std::string& to = text_of(tie);
    check_pattern(to, tie.where);
    if (to == tie.key)
      throw Error(ErrorKind::input, fmt::format("'{}' is tied to itself", tie.key), tie.where,
                  "say the name of the tensor that it is");
    names.tied.push_back({tie.key, to});
  }
}

/// ignored = ["rope.*", "mask"].
void read_ignored(ModelSpec::Names& names, const TomlEntry& entry) {
  const auto* array = std::get_if<std::shared_ptr<const TomlArray>>(&entry.value);
  if (array == nullptr)
    throw Error(ErrorKind::input, "ignored must be a list of names, got " + entry.type, entry.where,
                "for example ignored = [\"rope.*\"]");
  for (const TomlEntry& one : (*array)->elements) {
    const std::string& pattern = text_of(one);
    check_ignored(pattern, one.where);
    names.ignored.push_back(pattern);
  }
}

}  // namespace

void read_names(Reading& model, const TomlEntry& section) {
  ModelSpec::Names& names = model.spec.names;
  for (const TomlEntry& entry : table_of(section)) {
    model.given["names." + entry.key] = entry.where;
    if (entry.key == "layout") {
      read_layout(names, entry);
      continue;
    }
    if (entry.key == "tied" || entry.key == "ignored") {
      (entry.key == "tied" ? read_tied : read_ignored)(names, entry);
      continue;
    }
    check_pattern(entry.key, entry.where);
    NamePattern pattern{entry.key, split(text_of(entry))};
    for (const std::string& path : pattern.paths) check_pattern(path, entry.where);
    names.patterns.push_back(std::move(pattern));
  }
}

std::string write_names(const ModelSpec& spec) {
  if (!spec.names.any()) return {};
  std::string text = "\n[names]\nlayout = ";
  text += spec.names.in_out ? "\"in,out\"\n" : "\"out,in\"\n";
  for (const NamePattern& pattern : spec.names.patterns) {
    std::string paths;
    for (const std::string& path : pattern.paths)
      paths += (paths.empty() ? std::string() : std::string(beside)) + path;
    text += scalecalc::quoted(pattern.name) + " = " + scalecalc::quoted(paths) + "\n";
  }
  std::string ignored;
  for (const std::string& pattern : spec.names.ignored)
    ignored += (ignored.empty() ? "" : ", ") + scalecalc::quoted(pattern);
  if (!ignored.empty()) text += "ignored = [" + ignored + "]\n";
  if (!spec.names.tied.empty()) text += "\n[names.tied]\n";
  for (const TiedTensor& tie : spec.names.tied)
    text += scalecalc::quoted(tie.name) + " = " + scalecalc::quoted(tie.to) + "\n";
  return text;
}

}  // namespace scalecalc
