#include <charconv>

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "scalecalc/architectures.hpp"

/// Configs of other libraries. Those with whole numbers above 99 are left out: so many layers or
/// experts take the time that their tensors take, each of which is made.
namespace scalecalc::fuzz {
namespace {

constexpr int largest = 99;

/// Of digits that no point or exponent makes a part of another number.
bool has_large_integer(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!base::is_digit(text[at])) continue;
    int value = 0;
    const char* const begin = text.data() + at;
    const auto [end, code] = std::from_chars(begin, text.data() + text.size(), value);
    const bool is_whole = end == text.data() + text.size() || (*end != '.' && *end != 'e');
    const bool is_fraction = at > 0 && (text[at - 1] == '.' || text[at - 1] == '-');
    if (is_whole && !is_fraction && (code != std::errc() || value > largest)) return true;
    at = static_cast<std::size_t>(end - text.data());
  }
  return false;
}

}  // namespace

void one(std::string_view input) {
  LibraryModel model;
  if (has_large_integer(input)) return;
  if (!accepts([&] { model = parse_config(input, "config.json"); })) return;
  for (const std::string& tower : model.towers)
    accepts([&] { parse_config(input, "config.json", tower); });
  if (model.spec) model_text(*model.spec);
}

}  // namespace scalecalc::fuzz
