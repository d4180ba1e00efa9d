#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scalecalc::base {

/// A record of a CSV text (RFC 4180) and the line that it begins at, from 1.
struct CsvRecord {
  std::size_t line = 0;
  std::vector<std::string> fields;
};
/// All records but empty lines. Lines end in LF or CRLF; quotes stand around a whole field, doubled
/// inside. A mark of byte order in front is passed over. `name` stands for the file in messages.
/// Throws Error(input) at the line where a quote stands inside of a field, or is not closed.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& name);

}  // namespace scalecalc::base
