#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/report.hpp"

/// Text helpers that the printers share.
namespace scalecalc::report {

/// Columns a terminal gives to UTF-8 text: one a code point.
int display_width(std::string_view text);
/// The first `width` columns of the text, never half a character.
std::string_view cut_to_width(std::string_view text, int width);
/// Line breaks as blanks and nothing that would drive a terminal.
std::string single_line(std::string_view text);
/// Words of one paragraph in lines of at most `width` columns (a longer word stands alone).
std::vector<std::string> wrap(std::string_view text, int width);

/// How a person reads a value: "-" for null, yes and no, lists with commas.
std::string to_text(const Value& value, int digits);
bool is_numeric(const Value& value);
/// Whether every cell of a column is a number or empty, and one is a number.
bool is_numeric_column(const Table& table, std::size_t column);
/// Whether a section is left out where no curves are drawn.
bool is_for_curves(const Section& section);
/// The cell of a row that may be shorter than the table.
const Value& cell_at(const std::vector<Value>& row, std::size_t column);

/// For std::visit.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace scalecalc::report
