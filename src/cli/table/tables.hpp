#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scalecalc/report.hpp"

/// The tables that `table` writes, each one document. Numbers have no more digits than they are
/// known to, so that they do not depend on the processor.
namespace scalecalc::cli {

struct GeneratedTable {
  std::string name;   ///< "activations"
  std::string stem;   ///< its files below the folder, without an extension
  std::string title;  ///< what it holds
  std::function<report::Document()> make;
};
const std::vector<GeneratedTable>& generated_tables();
/// Throws Error(input) with the nearest name.
const GeneratedTable& generated_table(const std::string& name);

constexpr int kTableDigits = 10;  ///< of an integral or a closed form
/// The number rounded to so many significant digits; noise below 1e-15 is 0.
double rounded(double value, int digits = kTableDigits);

report::Document activations_table_document();
report::Document optimizers_table_document();
report::Document schemes_table_document();
report::Document init_table_document();
report::Document conventions_table_document();

/// A document whose rows are a table, shown under a title with a paragraph.
report::Document table_document(const std::string& name, const std::string& title,
                                const std::string& words, report::Table table,
                                int digits = kTableDigits);

}  // namespace scalecalc::cli
