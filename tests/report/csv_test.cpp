#include <doctest/doctest.h>

#include <limits>

#include "scalecalc/report.hpp"

namespace scalecalc::report {
namespace {

std::string print(const Document& document) {
  return make_printer(Format::csv)->print(document);
}

}  // namespace

TEST_CASE("fields are quoted as RFC 4180 says") {
  Document document;
  document.rows =
      Table{{"plain", "with,comma"}, {{"a\"b", "two\nlines"}, {"c, d", "e f"}, {true, Value()}}};
  CHECK(print(document) ==
        "plain,\"with,comma\"\n\"a\"\"b\",\"two\nlines\"\n\"c, d\",e f\ntrue,\n");
}

TEST_CASE("numbers keep every digit, what is not finite is empty") {
  Document document;
  document.rows = Table{{"x", "y", "z"},
                        {{0.1, 44.721359549995796, std::numeric_limits<double>::infinity()},
                         {3, Value::Digits{"1.25"}}}};
  CHECK(print(document) == "x,y,z\n0.1,44.721359549995796,\n3,1.25,\n");
}

TEST_CASE("without rows the scalars of the results are listed by path") {
  Document document;
  document.results["alpha"] = 2.5;
  document.results["init"].push_back(Value::object());
  document.results["init"].push_back("x,y");
  document.results["family"]["name"] = "adam";
  CHECK(print(document) == "name,value\nalpha,2.5\ninit[1],\"x,y\"\nfamily.name,adam\n");
}

TEST_CASE("a table without records still has its header") {
  Document document;
  document.rows = Table{{"a", "b"}, {}};
  document.results["unused"] = 1;
  CHECK(print(document) == "a,b\n");
}

}  // namespace scalecalc::report
