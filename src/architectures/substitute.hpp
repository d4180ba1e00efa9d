#pragma once

#include <functional>
#include <map>
#include <string>

#include "architectures/expression.hpp"

namespace scalecalc::architectures {

/// The arguments of a module and the variables of its loops, as expressions of keys of the config.
using Locals = std::map<std::string, Expression>;

/// Where the names of an expression come from.
struct Origin {
  Locals locals;
  /// The config inside the config that other names are keys of; none: the config itself.
  std::optional<Expression> within;
  /// Whether a key of the config may have a value.
  std::function<bool(const std::string& key)> is_key;
};

/// The expression in keys of the whole config alone; what has no key in it is evaluated.
Expression substituted(const Expression& expression, const Origin& origin);

}  // namespace scalecalc::architectures
