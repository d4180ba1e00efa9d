#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

constexpr std::size_t longest_name = 80;
constexpr std::size_t most_listed = 40;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& known) {
  if (name.empty() || name.size() > longest_name) return {};
  const std::string wanted = lower_case(name);
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const std::string& candidate : known) {
    const std::string other = lower_case(candidate);
    std::size_t distance = edit_distance(wanted, other);
    const std::size_t tolerated =
        std::max<std::size_t>(1, std::max(wanted.size(), other.size()) / 3);
    const bool begins = wanted.size() >= 3 && other.starts_with(wanted);
    if (begins) distance = std::min(distance, tolerated);
    if (distance <= tolerated && distance < wanted.size()) close.emplace_back(distance, candidate);
  }
  std::stable_sort(close.begin(), close.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& entry : close) names.push_back(std::move(entry.second));
  return names;
}

Error unknown_name(const std::string& what, std::string_view name,
                   const std::vector<std::string>& known, const std::string& where,
                   ErrorKind kind) {
  std::string hint;
  const std::vector<std::string> near = nearest_names(name, known);
  if (!near.empty()) hint = "did you mean '" + base::printable(near.front()) + "'? ";
  hint += "known: ";
  for (std::size_t k = 0; k < std::min(known.size(), most_listed); ++k) {
    hint += (k ? ", " : "") + base::shortened(known[k], longest_name);
  }
  if (known.size() > most_listed) hint += ", ...";
  if (known.empty()) hint = "no " + what + " is known here";
  return Error(kind, "unknown " + what + " '" + base::shortened(name, longest_name) + "'", where,
               hint);
}

}  // namespace scalecalc
