#pragma once

#include <algorithm>
#include <cstdint>

#include "base/team.hpp"

namespace scalecalc::tensor {

/// body(i) for every tile, whatever the number of threads that there are.
template <class Body>
void for_tiles(int threads, std::int64_t tiles, const Body& body) {
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  };
  if (threads <= 1 || tiles <= 1) return run(0, tiles);
  base::Team::of_this_thread().share_out(threads, tiles, run);
}

/// Pieces of `size` that cover `count`.
inline std::int64_t pieces(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// body(begin, end) over 0 .. count in fixed pieces of `size`.
template <class Body>
void for_ranges(int threads, std::int64_t count, std::int64_t size, const Body& body) {
  for_tiles(threads, pieces(count, size),
            [&](std::int64_t i) { body(i * size, std::min(count, (i + 1) * size)); });
}

/// Entries of one piece of an elementwise operation, and rows of one piece of a row operation.
inline constexpr std::int64_t kEntries = 4096;
inline std::int64_t rows_per_tile(std::int64_t width) {
  return std::max<std::int64_t>(1, kEntries / std::max<std::int64_t>(1, width));
}

/// body(t) for every row.
template <class Body>
void for_rows(int threads, std::int64_t rows, std::int64_t width, const Body& body) {
  for_ranges(threads, rows, rows_per_tile(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) body(t);
  });
}

}  // namespace scalecalc::tensor
