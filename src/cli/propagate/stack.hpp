#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scalecalc/report.hpp"

/// Long stacks cut for a person: the first and the last blocks, and a line for what is between.
namespace scalecalc::cli {

/// One line of the table: a row of the whole list, or the rows [begin, end) that it leaves out.
struct StackLine {
  std::size_t begin = 0, end = 0;
  bool left_out = false;
  std::string text;  ///< of what is left out: "... block[2] to block[9]"
};

/// A list of places, each under its path ("block[3].attn.q", "head"). A list of few rows stays
/// whole; in a longer one runs of numbered blocks keep two at either end. Rows that `keep` asks for
/// are never left out.
std::vector<StackLine> shorten_stack(const std::vector<std::string>& paths,
                                     const std::function<bool(std::size_t row)>& keep = {});

/// A table of a stack's places, its middle left out, with a row of each that is shown.
template <class Place, class Row>
report::Table stack_table(const std::vector<Place>& places, std::vector<std::string> columns,
                          const Row& row_of) {
  std::vector<std::string> paths;
  for (const Place& place : places) paths.push_back(place.path);
  report::Table table{std::move(columns), {}};
  for (const StackLine& line : shorten_stack(paths)) {
    if (line.left_out)
      table.rows.push_back({line.text});
    else
      table.rows.push_back(row_of(places[line.begin]));
  }
  return table;
}

}  // namespace scalecalc::cli
