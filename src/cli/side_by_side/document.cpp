#include "cli/side_by_side/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "cli/propagate/stack.hpp"

namespace scalecalc::cli {
namespace {

using report::Document;
using report::Table;
using report::Value;

constexpr char kMarks[] =
    "differs: x R where the largest value is R times the smallest, != where they differ otherwise "
    "(words, signs, a 0, one that is missing); empty where they are equal. Words that are equal "
    "everywhere, or long, are left out. --format json has all results of every column, --format "
    "csv a record for each.";

template <class Number>
std::optional<Number> read_all(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

/// A number, a truth or a text, as the value of an option reads.
Value typed(const std::string& text) {
  if (const auto integer = read_all<std::int64_t>(text)) return *integer;
  if (const auto number = read_all<double>(text)) return *number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values)
    text += (text.empty() ? "" : ", ") + base::shortened(value);
  return text;
}

std::vector<LineBlock> blocks_of(const std::vector<AxesRun>& runs, const std::vector<Part>& parts) {
  std::vector<const Value*> results;
  for (const AxesRun& run : runs) results.push_back(&run.document.results);
  return compared_blocks(results, parts);
}

std::string mark_of(const Difference& difference) {
  if (!difference.differs) return "";
  return difference.ratio ? "x " + report::format_number(*difference.ratio, 4) : "!=";
}

/// The lines that a person is shown; of a long list those at its ends.
Table table_of(const LineBlock& block, const std::vector<AxesRun>& runs) {
  Table table{{"", "differs"}, {}};
  table.key_columns = table.columns.size();
  for (const AxesRun& run : runs) table.columns.push_back(run.label());
  const auto add = [&](const Line& line) {
    if (block.is_words && !line.difference.differs) return;
    std::vector<Value> row = {line.name, mark_of(line.difference)};
    for (const auto& value : line.values) row.push_back(value ? *value : Value("missing"));
    table.rows.push_back(std::move(row));
  };
  std::vector<std::string> paths;
  for (const Line& line : block.lines) paths.push_back(line.name);
  for (const StackLine& line : shorten_stack(paths))
    line.left_out ? table.rows.push_back({line.text}) : add(block.lines[line.begin]);
  return table;
}

/// A list that is equal in every column is one sentence.
void add_section(const LineBlock& block, const std::vector<AxesRun>& runs,
                 std::vector<report::Section>& sections) {
  const bool differs = std::any_of(block.lines.begin(), block.lines.end(),
                                   [](const Line& line) { return line.difference.differs; });
  if (!block.member.empty() && !differs) {
    const std::string words = fmt::format("{} line{}, equal in every column", block.lines.size(),
                                          block.lines.size() == 1 ? "" : "s");
    sections.push_back({"", report::Facts{{{block.title(), words}}}});
  } else if (!block.is_words || differs) {
    sections.push_back({block.title(), table_of(block, runs)});
  }
}

void fill_sections(const std::vector<GivenAxis>& axes, const std::vector<AxesRun>& runs,
                   const std::vector<Part>& parts, Document& document) {
  report::Facts facts;
  for (const GivenAxis& axis : axes) facts.rows.emplace_back(axis.option, joined(axis.values));
  document.sections = {{document.command + ", side by side", facts}};
  for (const LineBlock& block : blocks_of(runs, parts)) add_section(block, runs, document.sections);
  document.sections.push_back({"", report::Paragraph{kMarks}});
}

Value quantity_value(const LineBlock& block, const Line& line) {
  Value entry = Value::object();
  entry["part"] = block.part.empty() ? Value() : Value(block.part);
  entry["name"] = line.name;
  entry["quantity"] = block.member.empty() ? line.name : block.member;
  entry["values"] = Value::array();
  for (const auto& value : line.values) entry["values"].push_back(value.value_or(Value()));
  entry["missing"] = Value::array();
  for (std::size_t i = 0; i < line.values.size(); ++i)
    if (!line.values[i]) entry["missing"].push_back(static_cast<std::int64_t>(i));
  entry["differs"] = line.difference.differs;
  entry["ratio"] = line.difference.ratio ? Value(*line.difference.ratio) : Value();
  return entry;
}

void fill_results(const std::vector<GivenAxis>& axes, const std::vector<AxesRun>& runs,
                  const std::vector<Part>& parts, Document& document) {
  document.results["rows"] = Value::array();
  for (const AxesRun& run : runs) {
    Value row = Value::object();
    for (std::size_t k = 0; k < axes.size(); ++k) row[axes[k].name] = typed(run.values[k]);
    row["inputs"] = run.document.inputs;
    row["results"] = run.document.results;
    document.results["rows"].push_back(std::move(row));
  }
  document.results["quantities"] = Value::array();
  for (const LineBlock& block : blocks_of(runs, parts))
    for (const Line& line : block.lines)
      document.results["quantities"].push_back(quantity_value(block, line));
}

/// A run's records; where it has none, its scalars as a single one.
Table records_of(const Document& document) {
  if (!document.rows.columns.empty()) return document.rows;
  Table table;
  table.rows.emplace_back();
  for (const auto& [path, value] : report::scalars_of(document.results)) {
    table.columns.push_back(path);
    table.rows.front().push_back(value);
  }
  return table;
}

/// Every column of every run; one that is called as an axis is "results.NAME".
void fill_rows(const std::vector<GivenAxis>& axes, const std::vector<AxesRun>& runs,
               Document& document) {
  std::vector<Table> tables;
  std::vector<std::vector<std::string>> columns;
  for (const AxesRun& run : runs) {
    tables.push_back(records_of(run.document));
    columns.push_back(tables.back().columns);
  }
  const std::vector<std::string> all = merged_order(columns);
  for (const GivenAxis& axis : axes) document.rows.columns.push_back(axis.name);
  const std::size_t fields = axes.size();
  for (const std::string& column : all) {
    const auto& known = document.rows.columns;
    const auto end = known.begin() + static_cast<long>(fields);
    const bool is_axis = std::find(known.begin(), end, column) != end;
    document.rows.columns.push_back((is_axis ? "results." : "") + column);
  }
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const std::vector<Value>& record : tables[r].rows) {
      std::vector<Value> row(fields + all.size());
      for (std::size_t k = 0; k < fields; ++k) row[k] = typed(runs[r].values[k]);
      for (std::size_t i = 0; i < record.size(); ++i) {
        const auto place = std::find(all.begin(), all.end(), columns[r][i]) - all.begin();
        row[fields + static_cast<std::size_t>(place)] = record[i];
      }
      document.rows.rows.push_back(std::move(row));
    }
}

}  // namespace

std::string AxesRun::label() const {
  return joined(values);
}

std::string words_of(const std::vector<GivenAxis>& axes) {
  std::string words;
  for (const GivenAxis& axis : axes)
    words += (words.empty() ? "" : "; ") + axis.name + " " + joined(axis.values);
  return words;
}

Document side_by_side_document(const std::vector<GivenAxis>& axes, const std::vector<AxesRun>& runs,
                               const std::vector<Part>& parts, report::Format format) {
  Document document;
  document.command = runs.front().document.command;
  for (const GivenAxis& axis : axes) {
    document.inputs[axis.name] = Value::array();
    for (const std::string& value : axis.values) document.inputs[axis.name].push_back(typed(value));
  }
  switch (format) {
    case report::Format::json: fill_results(axes, runs, parts, document); break;
    case report::Format::csv: fill_rows(axes, runs, document); break;
    case report::Format::table:
    case report::Format::markdown:
    case report::Format::latex: fill_sections(axes, runs, parts, document); break;
  }
  return document;
}

}  // namespace scalecalc::cli
