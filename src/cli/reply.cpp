#include "cli/reply.hpp"

#include <variant>

namespace scalecalc::cli {

using report::Value;

Value whole(const Value& value) {
  if (const auto* members = std::get_if<Value::Object>(&value.data())) {
    Value::Object made;
    made.reserve(members->size());
    for (const auto& [name, member] : *members) made.emplace_back(name, whole(member));
    return made;
  }
  Value::Array made;
  if (const auto* elements = std::get_if<Value::Array>(&value.data())) {
    made.reserve(elements->size());
    for (const Value& element : *elements) made.push_back(whole(element));
    return made;
  }
  if (const auto* list = std::get_if<Value::List>(&value.data())) {
    made.reserve(list->size);
    for (std::size_t i = 0; i < list->size; ++i) made.push_back(whole(list->element(i)));
    return made;
  }
  return value;
}

}  // namespace scalecalc::cli
