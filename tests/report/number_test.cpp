#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "scalecalc/report.hpp"

namespace scalecalc::report {

TEST_CASE("numbers for people") {
  CHECK(format_number(0) == "0");
  CHECK(format_number(-0.0) == "0");
  CHECK(format_number(1) == "1");
  CHECK(format_number(44.721359549995796) == "44.72136");
  CHECK(format_number(-0.0223606797749979) == "-0.02236068");
  CHECK(format_number(1000) == "1000");
  CHECK(format_number(9999999) == "9999999");
  CHECK(format_number(1e7) == "1e7");
  CHECK(format_number(9999999.9) == "1e7");
  CHECK(format_number(1e-5) == "0.00001");
  CHECK(format_number(9.99e-6) == "9.99e-6");
  CHECK(format_number(-1.5e300) == "-1.5e300");
  CHECK(format_number(1234567, 3) == "1230000");
  CHECK(format_number(0.99999999, 3) == "1");
  CHECK(format_number(2.5, 1) == "2");
  CHECK(format_number(std::nan("")) == "nan");
  CHECK(format_number(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("digits out of range are brought into it") {
  CHECK(format_number(3.14159, 0) == "3");
  CHECK(format_number(3.14159, -5) == "3");
  CHECK(format_number(0.1, 100) == "0.10000000000000001");
}

TEST_CASE("the shortest text reads back as the same double") {
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1) == "1");
  CHECK(shortest(1e23) == "1e+23");
  std::uint64_t bits = 0x9E3779B97F4A7C15;
  for (int i = 0; i < 10000; ++i) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = shortest(value);
    CHECK(std::strtod(text.c_str(), nullptr) == value);
    CHECK(text.size() <= 24);
  }
}

}  // namespace scalecalc::report
