#pragma once

#include <memory>

#include "scalecalc/report.hpp"

/// One printer a file.
namespace scalecalc::report {

std::unique_ptr<Printer> make_table_printer(const Style& style);
std::unique_ptr<Printer> make_json_printer();
std::unique_ptr<Printer> make_csv_printer();
std::unique_ptr<Printer> make_markdown_printer(const Style& style);
std::unique_ptr<Printer> make_latex_printer(const Style& style);

}  // namespace scalecalc::report
