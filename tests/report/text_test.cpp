#include "report/text.hpp"

#include <doctest/doctest.h>

namespace scalecalc::report {

TEST_CASE("widths count characters and cuts keep them whole") {
  CHECK(display_width("") == 0);
  CHECK(display_width("aλ±b") == 4);
  CHECK(cut_to_width("aλ±b", 2) == "aλ");
  CHECK(cut_to_width("aλ", 9) == "aλ");
  CHECK(cut_to_width("abc", 0).empty());
  CHECK(cut_to_width("abc", -1).empty());
}

TEST_CASE("wrapping keeps every word in order") {
  CHECK(wrap("one two  three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("toolongforit a", 3) == std::vector<std::string>{"toolongforit", "a"});
  CHECK(wrap("", 10) == std::vector<std::string>{""});
  CHECK(wrap("a\nb\tc", 80) == std::vector<std::string>{"a b c"});
}

TEST_CASE("values as a person reads them") {
  CHECK(to_text(Value(), 7) == "-");
  CHECK(to_text(true, 7) == "yes");
  CHECK(to_text(std::int64_t{1234567890123}, 7) == "1234567890123");
  CHECK(to_text(Value::Array{1, "a", 2.5}, 7) == "1, a, 2.5");
  CHECK(to_text(Value::List{2, [](std::size_t i) { return Value(static_cast<int>(i)); }}, 7) ==
        "0, 1");
  CHECK(to_text(Value::Object{{"x", 1}, {"y", "z"}}, 7) == "x: 1, y: z");
}

}  // namespace scalecalc::report
