#include "cli/train/placements.hpp"

#include <algorithm>

#include "base/split.hpp"

namespace scalecalc::cli {

std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const TrainGroup& group : train_groups()) names.push_back(group.name);
  return names;
}

std::vector<std::string> parse_placements(const std::string& text) {
  std::vector<std::string> groups;
  for (const std::string& given : base::split(text, ',')) {
    const std::string name = train_group(given).name;
    if (std::ranges::find(groups, name) != groups.end()) {
      throw Error(ErrorKind::input, "'" + name + "' is given twice", "--placements",
                  "for example --placements none,post,pre");
    }
    groups.push_back(name);
  }
  return groups;
}

std::vector<std::string> with_places(const std::vector<std::string>& placements,
                                     const std::string& text) {
  std::vector<std::string> groups;
  for (const std::string& placement : placements) {
    if (train_group(placement).dropout_place) {
      throw Error(ErrorKind::usage, "'" + placement + "' has a place of dropout already",
                  "--dropout-place", "name the places here, or behind each @ of --placements");
    }
    for (const std::string& place : base::split(text, ',')) {
      const std::string name =
          placement + "@" + to_string(dropout_places_from(place, "--dropout-place"));
      if (std::ranges::find(groups, name) != groups.end()) {
        throw Error(ErrorKind::input, "'" + place + "' is given twice", "--dropout-place",
                    "for example --dropout-place branch,activation");
      }
      groups.push_back(name);
    }
  }
  return groups;
}

std::string group_of(const ModelSpec& model) {
  for (const TrainGroup& group : train_groups())
    if (group.placement == model.placement && group.residual_attention == model.residual_attention)
      return group.name;
  return "pre";
}

}  // namespace scalecalc::cli
