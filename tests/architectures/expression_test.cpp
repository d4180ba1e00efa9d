#include "architectures/expression.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

const Value kConfig = Value::parse(
    R"({"width": 48, "heads": 5, "kinds": ["full", "local"], "sizes": [3, 4], "none": null,
        "gated": true, "act": "gelu", "inner": {"depth": 7}})");

Lookup names() {
  return [](const std::string& name) -> const Value* {
    const auto found = kConfig.find(name);
    return found == kConfig.end() ? nullptr : &*found;
  };
}

Value value(const std::string& text) {
  return Expression::parse(text, "test").evaluate(names());
}

}  // namespace

TEST_CASE("expressions mean what they mean in Python") {
  // Text and value, as python3 prints it.
  const std::pair<const char*, const char*> cases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"2 ** 3 ** 2", "512"},
      {"-2 ** 2", "-4"},
      {"7 // 2", "3"},
      {"-7 // 2", "-4"},
      {"-7 % 3", "2"},
      {"7 / 2", "3.5"},
      {"width // heads", "9"},
      {"width % heads != 0", "true"},
      {"not gated or heads > 4 and width < 50", "true"},
      {"1 if none else 2", "2"},
      {"1 if gated else 2 if none else 3", "1"},
      {"kinds[-1]", "\"local\""},
      {"'full' in kinds", "true"},
      {"len(sizes + [1])", "3"},
      {"none or width", "48"},
      {"none == None", "true"},
      {"act in ['relu', 'gelu']", "true"},
      {"max(3, min(5, 4))", "4"},
      {"sqrt(16)", "4"},
      {"int(2.7)", "2"},
      {"ceil(48 / 5)", "10"},
      {"up_to(50, 8)", "56"},
      {"sum([3, 1, 4])", "8"},
      {"sum([3, 1, 4], 2)", "4"},
      {"sum([3, 1, 4], 0)", "0"},
      {"inner['depth'] * 2", "14"},
      {"given(none)", "false"},
      {"given(nothing)", "false"},
      {"given(act)", "true"},
      {"1e-3 * 2", "0.002"},
      {"len(inner)", "1"},
      {"pair(sizes)", "[3,4]"},
      {"pair(7)[1] // 2", "3"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    CHECK(value(text).dump() == expected);
  }
}

TEST_CASE("what is no expression, or has no value, is refused") {
  for (const char* text : {"", "1 +", "(1", "1 2", "a if b", "width.x", "1 / 0", "nothing",
                           "act + 1", "sizes[2]", "width[0]", "f(1)", "len(width)", "sqrt(-1)"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(value(text), Error);
  }
  CHECK_THROWS_AS(value(std::string(200, '(')), Error);
}

TEST_CASE("an entry has a call, its draws and a condition") {
  const EntryText entry = parse_entry("linear(a, b) ~ normal(0.02), zeros() if c == 1", "test");
  CHECK(entry.call.name() == "linear");
  CHECK(entry.draws.size() == 2);
  CHECK(entry.draws[0].text() == "normal(0.02)");
  CHECK(entry.condition->text() == "c == 1");
  CHECK_THROWS_AS(parse_entry("linear(a, b) ~", "test"), Error);
  CHECK_THROWS_AS(parse_entry("linear(a, b) else c", "test"), Error);
}

}  // namespace scalecalc::architectures
