#include "tensor/conv_index.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "conv_shapes.hpp"

namespace scalecalc::tensor {
namespace {

std::size_t size(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

/// The positions of an image with its padding around it, -1 there.
std::vector<std::int64_t> padded_positions(const ConvShape& s) {
  const std::int64_t across = s.width + 2 * s.padding;
  std::vector<std::int64_t> all(size(across * (s.height + 2 * s.padding)), -1);
  std::int64_t position = 0;
  for (std::int64_t y = 0; y < s.height; ++y) {
    for (std::int64_t x = 0; x < s.width; ++x) {
      all[size((y + s.padding) * across + x + s.padding)] = position++;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("conv index: a kernel that slides over the padded image") {
  for (const ConvShape& s : kConvShapes) {
    if (s.one_row) continue;
    CAPTURE(s.kernel);
    CAPTURE(s.stride);
    const std::vector<std::int64_t> padded = padded_positions(s);
    const std::int64_t across = s.width + 2 * s.padding, taps = s.taps();
    std::int64_t out = 0, seen = 0, seeing = 0;
    for (std::int64_t y = 0; y + s.kernel <= s.height + 2 * s.padding; y += s.stride) {
      for (std::int64_t x = 0; x + s.kernel <= across; x += s.stride, ++out) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t at = (y + tap / s.kernel) * across + x + tap % s.kernel;
          const std::int64_t position = seen_position(s, out, tap);
          CHECK(position == padded[size(at)]);
          if (position < 0) continue;
          CHECK(seeing_position(s, position, tap) == out);
          ++seen;
        }
      }
    }
    CHECK(out == s.out_positions());
    for (std::int64_t position = 0; position < s.positions(); ++position) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        seeing += seeing_position(s, position, tap) >= 0 ? 1 : 0;
      }
    }
    CHECK(seeing == seen);
  }
}

TEST_CASE("conv index: along a row every row sees itself alone") {
  const ConvShape row{1, 1, 7, 4, 6, 3, 2, 1, 2, true};
  CHECK(row.taps() == 3);
  CHECK(row.out_height() == 1);
  CHECK(row.out_width() == 4);
  const ConvShape rows{1, 3, 7, 4, 6, 3, 2, 1, 2, true};
  CHECK(rows.out_positions() == 3 * row.out_positions());
  std::int64_t seeing = 0, seen = 0;
  for (std::int64_t out = 0; out < rows.out_positions(); ++out)
    for (std::int64_t tap = 0; tap < rows.taps(); ++tap) {
      const std::int64_t first = out / 4, alone = seen_position(row, out % 4, tap);
      const std::int64_t position = seen_position(rows, out, tap);
      CHECK(position == (alone < 0 ? -1 : 7 * first + alone));
      if (position < 0) continue;
      ++seen;
      CHECK(seeing_position(rows, position, tap) == out);
    }
  for (std::int64_t position = 0; position < rows.positions(); ++position)
    for (std::int64_t tap = 0; tap < rows.taps(); ++tap)
      seeing += seeing_position(rows, position, tap) >= 0 ? 1 : 0;
  CHECK(seeing == seen);
}

TEST_CASE("conv index: what is seen lies group by group, row by row, tap by tap") {
  for (const ConvShape& s : kConvShapes) {
    const std::int64_t rows = s.images * s.out_positions();
    std::int64_t entry = 0;
    for (std::int64_t group = 0; group < s.groups; ++group) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
          for (std::int64_t i = 0; i < s.group_in(); ++i) {
            CHECK(seen_entry(s, rows, row, tap, group * s.group_in() + i) == entry++);
          }
        }
      }
    }
  }
}

}  // namespace scalecalc::tensor
