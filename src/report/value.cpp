#include <cmath>
#include <variant>

#include "scalecalc/report.hpp"

namespace scalecalc::report {

Value& Value::operator[](const std::string& key) {
  if (std::holds_alternative<std::monostate>(data_)) data_ = Object{};
  Object* members = std::get_if<Object>(&data_);
  if (members == nullptr) {
    throw Error(ErrorKind::fault, "a value that is not an object has no member '" + key + "'");
  }
  for (auto& [name, value] : *members) {
    if (name == key) return value;
  }
  members->emplace_back(key, Value());
  return members->back().second;
}

const Value* Value::find(std::string_view key) const {
  const Object* members = std::get_if<Object>(&data_);
  if (members == nullptr) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Value::push_back(Value value) {
  if (std::holds_alternative<std::monostate>(data_)) data_ = Array{};
  Array* elements = std::get_if<Array>(&data_);
  if (elements == nullptr) {
    throw Error(ErrorKind::fault, "a value that is not an array has no elements to add to");
  }
  elements->push_back(std::move(value));
}

Value known(double value) {
  return std::isnan(value) ? Value() : Value(value);
}

namespace {

void add_scalars(const std::string& path, const Value& value,
                 std::vector<std::pair<std::string, Value>>& scalars) {
  const auto add_elements = [&](std::size_t size, const auto& element) {
    for (std::size_t i = 0; i < size; ++i)
      add_scalars(path + "[" + std::to_string(i) + "]", element(i), scalars);
  };
  if (const auto* members = std::get_if<Value::Object>(&value.data())) {
    for (const auto& [name, member] : *members)
      add_scalars(path.empty() ? name : path + "." + name, member, scalars);
  } else if (const auto* elements = std::get_if<Value::Array>(&value.data())) {
    add_elements(elements->size(), [&](std::size_t i) -> const Value& { return (*elements)[i]; });
  } else if (const auto* list = std::get_if<Value::List>(&value.data())) {
    add_elements(list->size, list->element);
  } else {
    scalars.emplace_back(path, value);
  }
}

}  // namespace

std::vector<std::pair<std::string, Value>> scalars_of(const Value& value) {
  std::vector<std::pair<std::string, Value>> scalars;
  add_scalars("", value, scalars);
  return scalars;
}

Value records(Table table) {
  const std::size_t size = table.rows.size();
  return Value(Value::List{size, [table = std::move(table)](std::size_t row) {
                             Value record = Value::object();
                             for (std::size_t i = 0; i < table.rows[row].size(); ++i)
                               record[table.columns.at(i)] = table.rows[row][i];
                             return record;
                           }});
}

}  // namespace scalecalc::report
