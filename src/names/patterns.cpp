#include "names/patterns.hpp"

#include <cctype>
#include <charconv>
#include <optional>

#include "scalecalc/names.hpp"

namespace scalecalc {

namespace names {

bool is_index(std::string_view text) {
  return text.size() >= 3 && text[0] == '{' && text[2] == '}';
}

std::pair<std::string, std::vector<std::int64_t>> without_indices(const std::string& path) {
  std::string pattern;
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < path.size(); ++i) {
    pattern += path[i];
    if (path[i] != '[') continue;
    pattern += {'{', static_cast<char>('i' + indices.size()), '}'};
    indices.push_back(0);
    for (; path[i + 1] != ']'; ++i) indices.back() = 10 * indices.back() + (path[i + 1] - '0');
  }
  return {pattern, indices};
}

std::vector<std::size_t> numbers_of(const std::string& name) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < name.size(); ++at)
    if (std::isdigit(static_cast<unsigned char>(name[at])) != 0 && (at == 0 || name[at - 1] == '.'))
      found.push_back(at);
  return found;
}

std::string with_index(const std::string& text, std::size_t at, std::int64_t number) {
  const std::string digits = std::to_string(number);
  if (text.compare(at, digits.size(), digits) != 0) return {};
  const std::size_t end = at + digits.size();
  if (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) return {};
  return text.substr(0, at) + "{i}" + text.substr(end);
}

}  // namespace names

std::optional<std::vector<std::int64_t>> match_pattern(std::string_view pattern,
                                                       std::string_view name) {
  std::vector<std::int64_t> indices;
  while (!pattern.empty()) {
    if (pattern == "*") return indices;
    if (names::is_index(pattern)) {
      std::int64_t index = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || index < 0) return std::nullopt;
      indices.push_back(index);
      name.remove_prefix(static_cast<std::size_t>(end - name.data()));
      pattern.remove_prefix(3);
      continue;
    }
    if (name.empty() || name.front() != pattern.front()) return std::nullopt;
    name.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  if (!name.empty()) return std::nullopt;
  return indices;
}

std::string path_pattern(const std::string& path) {
  const std::string pattern = names::without_indices(path).first;
  std::string starred;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool index = names::is_index(std::string_view(pattern).substr(i));
    starred += index ? '*' : pattern[i];
    if (index) i += 2;
  }
  return starred;
}

std::string fill_pattern(std::string_view pattern, const std::vector<std::int64_t>& indices) {
  std::string name;
  std::size_t next = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (names::is_index(pattern.substr(i)) && next < indices.size()) {
      name += std::to_string(indices[next++]);
      i += 2;
    } else {
      name += pattern[i];
    }
  }
  return name;
}

}  // namespace scalecalc
