#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scalecalc/report.hpp"

/// What of several results is compared, line by line.
namespace scalecalc::cli {

/// A part of `results` that is compared beside its scalars: an object, or a list of objects.
struct Part {
  std::string name;
  std::vector<std::string> members = {};  ///< of an object, or of each of the list; empty: all
  std::vector<std::string> keys = {};  ///< that name an element of a list; empty: its first member
  bool only_differing = false;         ///< what is equal everywhere is left out
};

/// How the values of a line differ.
struct Difference {
  bool differs = false;
  std::optional<double> ratio;  ///< of the largest to the smallest: of numbers of one sign
};

struct Line {
  std::string name;
  std::vector<std::optional<report::Value>> values;  ///< of each run; nothing: it has no such line
  Difference difference;
};

struct LineBlock {
  std::string part, member;  ///< "sites", "second"; empty of the scalars of `results`
  bool is_words = false;     ///< of those scalars: formulas and names, which make columns wide
  std::vector<Line> lines;
  /// "In numbers", "In words"; "sites: second".
  std::string title() const;
};

/// The scalars first, numbers apart from words, then the parts. Lines that no run has a value for
/// are left out, and texts that would not fit a column.
std::vector<LineBlock> compared_blocks(const std::vector<const report::Value*>& results,
                                       const std::vector<Part>& parts);

/// Every name of the lists once, in an order that keeps theirs: that of the first, with what only
/// others have before what follows it there.
std::vector<std::string> merged_order(const std::vector<std::vector<std::string>>& lists);

}  // namespace scalecalc::cli
