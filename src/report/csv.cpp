#include <cmath>

#include "report/printer.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

/// RFC 4180: quotes around what holds a comma, a quote or a line break, inner quotes doubled.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string to_field(const Value& value) {
  return std::visit(Overloaded{[](std::monostate) { return std::string(); },
                               [](bool truth) { return std::string(truth ? "true" : "false"); },
                               [](std::int64_t number) { return std::to_string(number); },
                               [](double number) {
                                 return std::isfinite(number) ? shortest(number) : std::string();
                               },
                               [](const std::string& text) { return field(text); },
                               [](const Value::Digits& number) { return field(number.text); },
                               [&value](const auto&) { return field(to_text(value, 17)); }},
                    value.data());
}

std::string record(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + fields[i];
  return line + "\n";
}

std::string print_table(const Table& table) {
  std::vector<std::string> names;
  for (const std::string& column : table.columns) names.push_back(field(column));
  std::string text = record(names);
  for (const std::vector<Value>& row : table.rows) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      fields.push_back(to_field(cell_at(row, i)));
    text += record(fields);
  }
  return text;
}

class CsvPrinter : public Printer {
 public:
  std::string print(const Document& document) const override {
    if (!document.rows.columns.empty()) return print_table(document.rows);
    std::string text = "name,value\n";
    for (const auto& [path, value] : scalars_of(document.results))
      text += record({field(path), to_field(value)});
    return text;
  }
};

}  // namespace

std::unique_ptr<Printer> make_csv_printer() {
  return std::make_unique<CsvPrinter>();
}

}  // namespace scalecalc::report
