#include "cli/side_by_side/form.hpp"

namespace scalecalc::cli {
namespace side_by_side_keys {

using report::Value;

/// A value of an option: a number where it reads as one.
Shape said() {
  using namespace shapes;
  return any_of({text(), number(), truth()});
}

Shape rows(const JsonForm& each) {
  using namespace shapes;
  Value row = object({{"inputs", each.inputs, "as of a single run"},
                      {"results", each.results, "as of a single run"}})
                  .schema();
  Value axis = said().schema();
  axis["description"] = "of the option of that name";
  row["additionalProperties"] = axis;
  return list(Shape(row));
}

Shape quantities() {
  using namespace shapes;
  Value any = Value::object();
  return list(
      object({{"part", text().or_null(), "of the results; null: the scalars"},
              {"name", text(), "of the line in that part: a site, a parameter, a key"},
              {"quantity", text(), "second, std, ...; of scalars the key again"},
              {"values", list(Shape(any)), "in the order of the rows; null where there is none"},
              {"missing", list(count()), "rows that have no such line, counted from 0"},
              {"differs", truth(), "beyond rounding"},
              {"ratio", number().or_null(), "of the largest size to the smallest; null: none"}}));
}

}  // namespace side_by_side_keys

JsonForm lists_alone(const JsonForm& each) {
  using namespace side_by_side_keys;
  using namespace shapes;
  return {map(list(said())),
          object({{"rows", rows(each), "a combination of values each"},
                  {"quantities", quantities(), "a number or word of the results each"}})};
}

JsonForm with_lists(const JsonForm& single) {
  using namespace side_by_side_keys;
  using namespace shapes;
  const JsonForm several = lists_alone(single);
  return {any_of({single.inputs, several.inputs}), any_of({single.results, several.results})};
}

}  // namespace scalecalc::cli
