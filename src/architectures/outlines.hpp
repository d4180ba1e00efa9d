#pragma once

#include <map>
#include <string>
#include <vector>

#include "scalecalc/architectures.hpp"

namespace scalecalc::architectures {

/// The tensors of a file by their names.
class Outlines {
 public:
  Outlines() = default;
  explicit Outlines(const std::vector<NamedShape>& tensors) {
    for (const NamedShape& tensor : tensors) shapes_.emplace(tensor.name, tensor.shape);
  }

  /// Null: there is none.
  const std::vector<std::int64_t>* shape(const std::string& name) const {
    const auto found = shapes_.find(name);
    return found == shapes_.end() ? nullptr : &found->second;
  }
  bool has(const std::string& name) const { return shapes_.count(name) > 0; }
  bool begins(const std::string& prefix) const {
    const auto found = shapes_.lower_bound(prefix);
    return found != shapes_.end() && found->first.starts_with(prefix);
  }
  /// How many of path0, path1, ... there are.
  std::int64_t count(const std::string& path) const {
    std::int64_t number = 0;
    while (begins(path + std::to_string(number) + ".")) ++number;
    return number;
  }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::map<std::string, std::vector<std::int64_t>> shapes_;
};

}  // namespace scalecalc::architectures
