#include "report/printer.hpp"

#include <string>

#include "scalecalc/symbolic.hpp"

namespace scalecalc::report {

const char* version() {
  return SCALECALC_VERSION;
}

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names = {"table", "json", "csv", "md", "latex"};
  return names;
}

Format format_from(std::string_view name) {
  if (name == "table") return Format::table;
  if (name == "json") return Format::json;
  if (name == "csv") return Format::csv;
  if (name == "md" || name == "markdown") return Format::markdown;
  if (name == "latex") return Format::latex;
  throw unknown_name("format", name, format_names(), "--format");
}

std::unique_ptr<Printer> make_printer(Format format, const Style& style) {
  switch (format) {
    case Format::table: return make_table_printer(style);
    case Format::json: return make_json_printer();
    case Format::csv: return make_csv_printer();
    case Format::markdown: return make_markdown_printer(style);
    case Format::latex: return make_latex_printer(style);
  }
  throw Error(ErrorKind::fault, "no printer for this format");
}

}  // namespace scalecalc::report
