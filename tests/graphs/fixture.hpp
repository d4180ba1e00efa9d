#pragma once

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "graphs/archive.hpp"

/// Graphs of make_graphs.py as files of torch.export, with weights drawn here.
namespace scalecalc::testing {

using Json = nlohmann::json;

inline Json fixture(const std::string& name) {
  std::ifstream file(std::string(SCALECALC_GRAPHS_DIR) + "/" + name + ".json");
  return Json::parse(file);
}

/// Entries of mean square std^2 exactly, so far as floats go, so that what is measured is what was
/// drawn.
inline std::string drawn(std::size_t count, double std, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  double second = 0;
  for (double& value : values) {
    value = normal(engine);
    second += value * value;
  }
  const double factor = second > 0 ? std / std::sqrt(second / static_cast<double>(count)) : 0;
  std::string bytes;
  for (const double value : values) put<float>(bytes, static_cast<float>(factor * value));
  return bytes;
}

inline std::string constant(std::size_t count, float value) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) put<float>(bytes, value);
  return bytes;
}

/// std of the weight of that name and rank; below 0: all are 1.
using StdOf = std::function<double(const std::string& name, std::size_t rank)>;

inline std::vector<ArchiveEntry> entries_of(const Json& json, const StdOf& std_of) {
  std::vector<ArchiveEntry> entries = {
      {"model/models/model.json", json["models/model.json"].dump()}};
  for (const auto& [name, list] : json["lists"].items())
    entries.push_back({"model/" + name, list.dump()});
  for (const auto& [name, bytes] : json["data"].items()) {
    std::string text;
    for (const Json& byte : bytes) text += static_cast<char>(byte.get<int>());
    entries.push_back({"model/" + name, text});
  }
  const Json& weights = json["lists"]["data/weights/model_weights_config.json"]["config"];
  std::map<std::string, bool> done;
  unsigned seed = 0;
  for (const auto& [name, about] : weights.items()) {
    const std::string path = "data/weights/" + about["path_name"].get<std::string>();
    if (json["data"].contains(path) || !done.emplace(path, true).second) continue;
    std::size_t count = 1;
    for (const Json& size : about["tensor_meta"]["sizes"])
      count *= size["as_int"].get<std::size_t>();
    const double std = std_of(name, about["tensor_meta"]["sizes"].size());
    entries.push_back({"model/" + path, std < 0 ? constant(count, 1) : drawn(count, std, ++seed)});
  }
  return entries;
}

/// Matrices of std 0.02, norms and biases as new ones are.
inline double plain(const std::string& name, std::size_t rank) {
  if (rank > 1) return 0.02;
  return name.ends_with("bias") ? 0 : -1;
}

inline std::string file_of(const std::string& name, const std::string& path,
                           const StdOf& std_of = plain) {
  write_bytes(path, zip(entries_of(fixture(name), std_of)));
  return path;
}

}  // namespace scalecalc::testing
