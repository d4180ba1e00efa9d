#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "report/text.hpp"

namespace scalecalc::report {

TEST_CASE("a bar, the share, the time left and what is under way") {
  CHECK(progress_line(0.5, 12, "N = 128, seed 3", 60) ==
        "[======>        ]  50%  12 s left  N = 128, seed 3");
  CHECK(progress_line(1, 12, "", 60) == "[===============] 100%");
  CHECK(progress_line(0, 0, "start", 60) == "[               ]   0%  start");
  CHECK(progress_line(0.25, 100, "", 40) == "[=>        ]  25%  5 min 0 s left");
  CHECK(progress_line(0.1, 3600, "", 40) == "[>         ]  10%  9 h 0 min left");
}

TEST_CASE("a progress line never outgrows the terminal") {
  const std::string what(300, 'x');
  for (int width : {0, 1, 5, 20, 79, 200}) {
    CHECK(display_width(progress_line(0.37, 1e9, what, width)) <= width);
  }
}

TEST_CASE("shares that make no sense are brought into range") {
  CHECK(progress_line(std::nan(""), 61, "verify", 60) == "1 min 1 s  verify");
  CHECK(progress_line(-3, 1, "", 60) == progress_line(0, 1, "", 60));
  CHECK(progress_line(7, 1, "", 60) == progress_line(1, 1, "", 60));
  CHECK_NOTHROW(progress_line(0.5, std::numeric_limits<double>::infinity(), "", 60));
  CHECK_NOTHROW(progress_line(0.5, std::nan(""), "", 60));
}

}  // namespace scalecalc::report
