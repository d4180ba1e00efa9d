#include "cli/json_form.hpp"

#include <utility>

namespace scalecalc::cli {
namespace {

using report::Value;

Value texts(const std::vector<std::string>& words) {
  Value list = Value::array();
  for (const std::string& word : words) list.push_back(word);
  return list;
}

Shape of_type(const char* type) {
  Value schema;
  schema["type"] = type;
  return Shape(schema);
}

Shape of_types(const std::vector<std::string>& types) {
  Value schema;
  schema["type"] = texts(types);
  return Shape(schema);
}

Shape constant(const std::string& word) {
  Value schema;
  schema["const"] = word;
  return Shape(schema);
}

Shape error_shape() {
  using namespace shapes;
  const Shape error = object(
      {{"kind", one_of({"usage", "input", "unsolvable", "fault"}),
        "usage: wrong options; input: a wrong value or file; unsolvable: what is asked has no "
        "solution; fault: something outside the program failed"},
       {"message", text(), "what is wrong, in one line"},
       {"where", text(), "the option, file or layer that it is about; empty where there is none"},
       {"hint", text(), "what would be right; empty where nothing is known"},
       {"exit_code", count(), "the exit status of the program"}});
  return object({{"scalecalc", text(), "the version of the program"},
                 {"error", error, "why there is no result"}});
}

Shape output_shape(const std::string& command, const JsonForm& form) {
  return shapes::object({{"scalecalc", shapes::text(), "the version of the program"},
                         {"command", constant(command), "what was run"},
                         {"inputs", form.inputs, "what was asked, with its defaults"},
                         {"results", form.results, "what was found"}});
}

}  // namespace

Shape Shape::or_null() const {
  Value schema = schema_;
  const Value* const type = schema_.find("type");
  const Value* const words = schema_.find("enum");
  if (words != nullptr) {
    schema["enum"].push_back({});
  } else if (type != nullptr) {
    Value types = *type;
    if (std::holds_alternative<std::string>(type->data())) types = Value(Value::Array{*type});
    types.push_back("null");
    schema["type"] = types;
  } else {
    return shapes::any_of({*this, of_type("null")});
  }
  return Shape(schema);
}

namespace shapes {

Shape text() {
  return of_type("string");
}
Shape number() {
  return of_type("number");
}
Shape integer() {
  return of_type("integer");
}
Shape count() {
  Value schema = integer().schema();
  schema["minimum"] = 0;
  return Shape(schema);
}
Shape truth() {
  return of_type("boolean");
}
Shape digits() {
  return of_types({"number", "string"});
}
Shape power() {
  return of_types({"integer", "string"});
}

Shape one_of(const std::vector<std::string>& words) {
  Value schema;
  schema["enum"] = texts(words);
  return Shape(schema);
}

Shape list(const Shape& element) {
  Value schema = of_type("array").schema();
  schema["items"] = element.schema();
  return Shape(schema);
}

Shape numbers(int size) {
  Value schema = list(number()).schema();
  schema["minItems"] = size;
  schema["maxItems"] = size;
  return Shape(schema);
}

Shape object(const Keys& keys) {
  Value schema = of_type("object").schema();
  Value members = Value::object(), required = Value::array();
  for (const Key& key : keys) {
    Value member = key.shape.schema();
    member["description"] = key.meaning;
    members[key.name] = member;
    if (key.is_always) required.push_back(key.name);
  }
  schema["properties"] = members;
  schema["required"] = required;
  schema["additionalProperties"] = false;
  return Shape(schema);
}

Shape map(const Shape& value) {
  Value schema = of_type("object").schema();
  schema["additionalProperties"] = value.schema();
  return Shape(schema);
}

Shape any_of(const std::vector<Shape>& shapes) {
  Value schema, all = Value::array();
  for (const Shape& shape : shapes) all.push_back(shape.schema());
  schema["anyOf"] = all;
  return Shape(schema);
}

}  // namespace shapes

Key maybe(std::string name, Shape shape, std::string meaning) {
  return {std::move(name), std::move(shape), std::move(meaning), false};
}

Keys operator+(Keys keys, const Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

std::string schema_id(const std::string& command) {
  return std::string("urn:scalecalc:") + report::version() + ":" + command;
}

report::Value json_schema(const std::string& command, const std::string& summary,
                          const JsonForm& form) {
  Value schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["$id"] = schema_id(command);
  schema["title"] = "scalecalc " + command + " --format json";
  schema["description"] = summary;
  schema["anyOf"] =
      Value(Value::Array{output_shape(command, form).schema(), error_shape().schema()});
  return schema;
}

}  // namespace scalecalc::cli
