#pragma once

#include <string>
#include <vector>

#include "scalecalc/report.hpp"

/// What commands print with --format json, declared key by key; their JSON Schemas (draft 2020-12)
/// are made from it.
namespace scalecalc::cli {

/// What a value is.
class Shape {
 public:
  /// A schema as it is.
  explicit Shape(report::Value schema) : schema_(std::move(schema)) {}
  /// This, or null where there is nothing to say.
  Shape or_null() const;
  const report::Value& schema() const { return schema_; }

 private:
  report::Value schema_;
};

/// A member of an object.
struct Key {
  std::string name;
  Shape shape;
  std::string meaning;    ///< with its unit or range, if it has one
  bool is_always = true;  ///< else it may be missing
};
using Keys = std::vector<Key>;

/// The two parts of an output that differ by command.
struct JsonForm {
  Shape inputs, results;
};

namespace shapes {
Shape text();
Shape number();  ///< finite
Shape integer();
Shape count();  ///< an integer that is not below 0
Shape truth();
/// A number, or its decimal digits as text where more are asked for than a double holds.
Shape digits();
/// An integer, or a fraction as text: "1/2".
Shape power();
/// One of these texts.
Shape one_of(const std::vector<std::string>& words);
Shape list(const Shape& element);
/// `size` numbers.
Shape numbers(int size);
/// These members and no other.
Shape object(const Keys& keys);
/// Members whose names are data, all of one shape.
Shape map(const Shape& value);
Shape any_of(const std::vector<Shape>& shapes);
}  // namespace shapes

/// A key that may be missing.
Key maybe(std::string name, Shape shape, std::string meaning);
/// One list after the other.
Keys operator+(Keys keys, const Keys& more);

/// "urn:scalecalc:0.2.0:deepnorm".
std::string schema_id(const std::string& command);
/// The schema of everything that a command prints with --format json: its output, or an error.
report::Value json_schema(const std::string& command, const std::string& summary,
                          const JsonForm& form);

}  // namespace scalecalc::cli
