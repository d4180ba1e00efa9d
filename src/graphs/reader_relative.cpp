#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graphs/reader.hpp"

/// Learnt biases of scores by the distance of a key (T5).
namespace scalecalc::graphs {
namespace {

/// Row of a table of so many for a key that lies `ahead` of its query: half of the rows for each
/// side where both are seen; as many single distances as half of those, then logarithmic ones up to
/// `distance`. In float, as T5's code has it.
std::int64_t row_of(std::int64_t ahead, std::int64_t rows, std::int64_t distance, bool is_causal) {
  std::int64_t first = 0, away = std::max<std::int64_t>(0, -ahead);
  if (!is_causal) {
    rows /= 2;
    first = ahead > 0 ? rows : 0;
    away = std::abs(ahead);
  }
  const std::int64_t exact = rows / 2;
  if (away < exact || exact < 1 || distance <= exact) return first + std::min(away, rows - 1);
  const float ratio = static_cast<float>(away) / static_cast<float>(exact);
  const double whole = std::log(static_cast<double>(distance) / static_cast<double>(exact));
  const auto step = static_cast<std::int64_t>(std::log(ratio) / static_cast<float>(whole) *
                                              static_cast<float>(rows - exact));
  return first + std::min(exact + step, rows - 1);
}

/// A distance is looked for up to the most, by so many keys of a query.
constexpr std::int64_t most_distance = 1 << 20, most_keys = 512;

}  // namespace

void Reader::bias_scores(const Node& node, Scores& scores, const Value& table) const {
  if (scores.is_softmax || scores.is_under_tanh)
    fail(node, "it changes scores of attention as no known one does");
  if (scores.relative || table.tables.size() != 1 || table.tables[0].places == nothing)
    fail(node, "it adds a table to scores that is not looked up by distances",
         "learnt biases of scores as T5 has them are known");
  scores.relative = table.tables[0];
  for (const std::size_t mask : table.added)
    scores.masks.emplace_back(mask, Scores::Masks::is_added);
}

RelativeTable Reader::relative_of(const Node& node, const Table& table, std::int64_t heads,
                                  std::int64_t tokens, bool is_causal) {
  const Sizes &shape = sizes(table.tensor), &places = sizes(table.places);
  if (shape[1] != heads || places.size() < 2 || places.back() != tokens ||
      places[places.size() - 2] != tokens)
    fail(node, "its learnt biases are not those of every head, query and key");
  RelativeTable found{table.tensor, shape[0], 0, 0};
  // Rows that it looks up, by how far a key lies ahead.
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  for (const std::int64_t query : {std::int64_t{0}, tokens / 2, tokens - 1})
    for (std::int64_t key = 0; key < tokens; key += std::max<std::int64_t>(1, tokens / most_keys)) {
      if (is_causal && key > query) continue;
      Sizes index(places.size(), 0);
      index[places.size() - 2] = query;
      index[places.size() - 1] = key;
      const auto row = constants_.at(table.places, index);
      if (!row || !(std::fabs(*row) <= static_cast<double>(found.buckets)))
        fail(node, "the places at which its learnt biases are looked up are not known");
      rows.emplace_back(key - query, static_cast<std::int64_t>(*row));
    }
  // A row comes later the nearer the distance is from which on all keys share the last.
  const auto all = [&](std::int64_t distance, const auto& holds) {
    return std::all_of(rows.begin(), rows.end(), [&](const auto& one) {
      return holds(row_of(one.first, found.buckets, distance, is_causal), one.second);
    });
  };
  const auto first_of = [&](const auto& is_there) {
    std::int64_t low = 1, high = most_distance;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      (is_there(middle) ? high : low) = is_there(middle) ? middle : middle + 1;
    }
    return low;
  };
  found.least = first_of([&](std::int64_t d) { return all(d, std::less_equal<>()); });
  found.most = first_of([&](std::int64_t d) { return !all(d, std::greater_equal<>()); });
  if (all(found.most, std::greater_equal<>()))
    found.most = INT64_MAX;
  else
    --found.most;
  if (found.least > found.most || !all(found.least, std::equal_to<>()))
    fail(node, "its learnt biases go by other distances than T5's",
         "half of the rows for single distances, the others by their logarithm");
  return found;
}

}  // namespace scalecalc::graphs
