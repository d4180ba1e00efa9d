#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

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

}  // namespace scalecalc::cli
