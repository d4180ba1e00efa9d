#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "report/text.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::report {
namespace {

std::string print(Section section, const Style& style = {}) {
  Document document;
  document.sections = {std::move(section)};
  return make_printer(Format::table, style)->print(document);
}

int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

}  // namespace

TEST_CASE("numbers align at the decimal point, words at the left") {
  const Table table{{"n", "x", "word"}, {{2, 1.5, "a"}, {1000, -10.25, "bcd"}, {7, 3, Value()}}};
  CHECK(print({"", table}) ==
        "   n       x  word\n"
        "----  ------  ----\n"
        "   2    1.5   a\n"
        "1000  -10.25  bcd\n"
        "   7    3     -\n");
}

TEST_CASE("columns that a terminal has no room for are left out and named") {
  const std::string words = "ww ww ww ww ww ww ww ww ww ww";
  const Table table{{"name", "value", "words", "more", ""}, {{"a", 1.25, words, words, 7}}};
  Style style;
  style.width = 50;
  CHECK(widest_line(print({"T", table}, style)) > 50);
  style.elide = true;
  CHECK(print({"T", table}, style) ==
        "T\n"
        "  name  value  words\n"
        "  ----  -----  -----------------------------\n"
        "  a      1.25  " +
            words +
            "\n"
            "  Too wide for this terminal, and left out: more,\n"
            "  (no name); --wide shows every column.\n");
  for (int width = 10; width < 120; ++width) {
    style.width = width;
    const std::string text = print({"T", table}, style);
    CAPTURE(width);
    CHECK(text.find("name") != std::string::npos);
    CHECK((text.find("--wide") == std::string::npos) == (text.find("  7\n") != std::string::npos));
    if (width >= 40) CHECK(widest_line(text) <= width);
  }
}

TEST_CASE("a table with key columns goes on below them") {
  Table table{{"name", "first", "second", "third"}, {{"a", 1, 22, 3}, {"b", 4, 5, 666}}};
  table.key_columns = 1;
  Style style;
  style.width = 21;
  const std::string whole =
      "name  first  second  third\n"
      "----  -----  ------  -----\n"
      "a         1      22      3\n"
      "b         4       5    666\n";
  CHECK(print({"", table}, style) == whole);
  style.elide = true;
  CHECK(print({"", table}, style) ==
        "name  first  second\n"
        "----  -----  ------\n"
        "a         1      22\n"
        "b         4       5\n"
        "\n"
        "name  third\n"
        "----  -----\n"
        "a         3\n"
        "b       666\n");
  style.width = 26;
  CHECK(print({"", table}, style) == whole);
  style.width = 1;  // a column each
  CHECK(widest_line(print({"", table}, style)) == 12);
}

TEST_CASE("UTF-8 text counts its characters") {
  const Table table{{"größe", "b"}, {{"±1", 1}, {"λ = 2", 22}}};
  CHECK(print({"", table}) ==
        "größe   b\n"
        "-----  --\n"
        "±1      1\n"
        "λ = 2  22\n");
}

TEST_CASE("a short row leaves its cells empty") {
  CHECK(print({"", Table{{"a", "b"}, {{1}, {2, "x"}}}}) == "a  b\n-  -\n1  -\n2  x\n");
  CHECK(print({"", Table{{}, {{1}}}}).empty());
  CHECK(print({"", Table{{"a"}, {}}}) == "a\n-\n");
}

TEST_CASE("paragraphs, facts, steps and last columns wrap at the width") {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  Style style;
  for (int width : {40, 60, 100}) {
    style.width = width;
    CHECK(widest_line(print({"Title", Paragraph{words}}, style)) <= width);
    CHECK(widest_line(print({"Title", Facts{{{"name", words}}}}, style)) <= width);
    CHECK(widest_line(print({"Title", Derivation{{{words, "", "", words, words}}}}, style)) <=
          width);
    CHECK(widest_line(print({"Title", Table{{"n", "text"}, {{1, words}}}}, style)) <= width);
  }
}

TEST_CASE("colour only when asked, and no line drives the terminal") {
  const Section section{"Title", Table{{"a"}, {{"x\x1b[31m\ny"}}}};
  CHECK(print(section).find('\x1b') == std::string::npos);
  Style style;
  style.color = true;
  const std::string colored = print(section, style);
  CHECK(colored.find("\x1b[1mTitle\x1b[0m") != std::string::npos);
  CHECK(colored.find("\x1b[31m") == std::string::npos);
}

TEST_CASE("style says how many digits") {
  Style style;
  style.digits = 3;
  CHECK(print({"", Facts{{{"x", 3.14159265}}}}, style) == "x  3.14\n");
  style.digits = 17;
  CHECK(print({"", Facts{{{"x", 0.1}}}}, style) == "x  0.10000000000000001\n");
}

}  // namespace scalecalc::report
