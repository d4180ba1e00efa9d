#pragma once

#include <map>
#include <string>

#include "architectures/expression.hpp"

namespace scalecalc::architectures {

/// The names of a module or of a list of layers: its arguments and loops, then the keys of its
/// config.
struct Scope {
  Lookup keys;
  std::map<std::string, Value> locals = {};

  const Value* find(const std::string& name) const {
    const auto local = locals.find(name);
    return local == locals.end() ? keys(name) : &local->second;
  }
  Lookup lookup() const {
    return [this](const std::string& name) { return find(name); };
  }
};

/// As a part of a name.
inline std::string written(const Value& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace scalecalc::architectures
