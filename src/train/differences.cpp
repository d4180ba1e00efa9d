#include "train/differences.hpp"

#include <map>

namespace scalecalc::train_room {
namespace {

std::string value_of(const std::map<std::string, std::string>& entries, const std::string& key) {
  const auto found = entries.find(key);
  return found == entries.end() ? "default" : found->second;
}

std::map<std::string, std::string> entries_of(const std::string& text) {
  std::map<std::string, std::string> entries;
  for (auto& [key, value] : model_entries(text)) entries[key] = value;
  return entries;
}

}  // namespace

std::vector<GroupDifference> model_differences(
    const std::vector<std::pair<std::string, std::string>>& models) {
  std::vector<GroupDifference> differences;
  std::map<std::string, std::string> reference;
  for (const auto& [name, text] : models) {
    const std::map<std::string, std::string> own = entries_of(text);
    if (reference.empty()) reference = own;
    std::map<std::string, std::string> keys = reference;
    keys.insert(own.begin(), own.end());
    for (const auto& [key, ignored] : keys) {
      const std::string here = value_of(own, key), there = value_of(reference, key);
      if (here != there) differences.push_back({name, key, here, there});
    }
  }
  return differences;
}

}  // namespace scalecalc::train_room
