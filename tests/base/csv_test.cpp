#include "base/csv.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"

using namespace scalecalc;
using base::CsvRecord;
using base::parse_csv;

namespace {

/// As RFC 4180 writes a field, quoted where it must be, or anyway.
std::string written(const std::string& field, bool anyway) {
  if (!anyway && field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

TEST_CASE("csv: fields of any text come back, with the line of each record") {
  std::mt19937_64 draw(3);
  const std::string letters = "ab,\"\n\r 1";
  for (int trial = 0; trial < 500; ++trial) {
    CAPTURE(trial);
    const std::string end = draw() % 2 == 0 ? "\n" : "\r\n";
    std::vector<std::vector<std::string>> wanted;
    std::vector<std::size_t> lines;
    std::string text;
    std::size_t line = 1;
    for (std::uint64_t i = draw() % 5; i > 0; --i) {
      std::vector<std::string> fields;
      lines.push_back(line);
      for (std::uint64_t j = 2 + draw() % 3; j > 0; --j) {
        std::string field;
        for (std::uint64_t k = draw() % 4; k > 0; --k) field += letters[draw() % letters.size()];
        for (const char c : field) line += c == '\n' ? 1 : 0;
        text += (fields.empty() ? "" : ",") + written(field, draw() % 2 == 0);
        fields.push_back(field);
      }
      wanted.push_back(fields);
      ++line;
      text += i > 1 || draw() % 2 == 0 ? end : "";
    }
    CAPTURE(text);
    const std::vector<CsvRecord> found = parse_csv(text, "file");
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].fields == wanted[i]);
      CHECK(found[i].line == lines[i]);
    }
  }
}

TEST_CASE("csv: empty lines are no records, and a mark of byte order is no text") {
  const std::vector<CsvRecord> found = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\n\n\r\n1,\n",
      "file");
  REQUIRE(found.size() == 2);
  CHECK(found[0].fields == std::vector<std::string>{"a", "b"});
  CHECK(found[1].fields == std::vector<std::string>{"1", ""});
  CHECK(found[1].line == 4);
  CHECK(parse_csv("", "file").empty());
}

TEST_CASE("csv: quotes that are out of place are refused at their line") {
  const auto where = [](const std::string& text) {
    try {
      parse_csv(text, "file");
    } catch (const Error& error) {
      return error.where();
    }
    return std::string("read");
  };
  CHECK(where("a,b\nc\"d,e\n") == "file:2");
  CHECK(where("a,b\n\"c\"d,e\n") == "file:2");
  CHECK(where("a\nb\n\"c\n\n\n") == "file:3");
}
