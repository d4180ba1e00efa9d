#include <algorithm>

#include "report/printer.hpp"
#include "report/text.hpp"
#include "scalecalc/plot.hpp"

namespace scalecalc::report {
namespace {

constexpr int kIndent = 2;
constexpr int kGap = 2;  // columns between two cells
constexpr int kNarrowestWrap = 20;
constexpr int kWidestCurve = 32, kNarrowestCurve = 6;

std::string blanks(int count) {
  return std::string(std::max(count, 0), ' ');
}

/// A cell split where numbers align: before the decimal point and from it on.
struct Cell {
  std::string text;
  int before = 0, after = 0;
};

Cell make_cell(const Value& value, int digits) {
  Cell cell{to_text(value, digits)};
  const std::size_t point = std::min(cell.text.find_first_of(".e"), cell.text.size());
  cell.before = static_cast<int>(point);
  cell.after = static_cast<int>(cell.text.size() - point);
  return cell;
}

/// One column laid out: every text of the same width, but for a last column of words.
struct Column {
  std::string name;
  std::vector<std::string> cells;
  int width = 0;
  bool numeric = false;
};

void align_numbers(Column& column, const std::vector<Cell>& cells) {
  int before = 0, after = 0;
  for (const Cell& cell : cells) {
    before = std::max(before, cell.before);
    after = std::max(after, cell.after);
  }
  column.width = std::max(before + after, display_width(column.name));
  const int lead = column.width - before - after;
  for (const Cell& cell : cells) {
    column.cells.push_back(blanks(lead + before - cell.before) + cell.text +
                           blanks(after - cell.after));
  }
}

Column lay_out_column(const Table& table, std::size_t index, int digits) {
  Column column{single_line(table.columns[index]), {}, 0, is_numeric_column(table, index)};
  std::vector<Cell> cells;
  for (const std::vector<Value>& row : table.rows) {
    cells.push_back(make_cell(cell_at(row, index), digits));
  }
  if (column.numeric) {
    align_numbers(column, cells);
    return column;
  }
  column.width = display_width(column.name);
  for (const Cell& cell : cells) {
    column.width = std::max(column.width, display_width(cell.text));
    column.cells.push_back(cell.text);
  }
  return column;
}

/// The width to which a column of words can be wrapped.
int narrowest(const Column& column) {
  int least = std::max(kNarrowestWrap, display_width(column.name));
  for (const std::string& cell : column.cells)
    for (const std::string& word : wrap(cell, 1)) least = std::max(least, display_width(word));
  return std::min(least, column.width);
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

class TablePrinter : public Printer {
 public:
  explicit TablePrinter(const Style& style) : style_(style) {}

  std::string print(const Document& document) const override {
    std::string text;
    for (const Section& section : document.sections) {
      if (is_for_curves(section) && !style_.curves) continue;
      if (!text.empty()) text += "\n";
      const int indent = section.title.empty() ? 0 : kIndent;
      if (!section.title.empty()) text += bold(single_line(section.title)) + "\n";
      std::visit([&](const auto& body) { print_body(body, indent, text); }, section.body);
    }
    return text;
  }

 private:
  std::string bold(const std::string& text) const {
    return style_.color ? "\033[1m" + text + "\033[0m" : text;
  }
  std::string faint(const std::string& text) const {
    return style_.color ? "\033[2m" + text + "\033[0m" : text;
  }

  /// `first` before the first line, blanks of its width before the others.
  void print_wrapped(const std::string& words, const std::string& first, std::string& text) const {
    const int indent = display_width(first);
    std::string lead = first;
    for (const std::string& line : wrap(words, std::max(style_.width - indent, kNarrowestWrap))) {
      text += without_trailing_blanks(lead + line) + "\n";
      lead = blanks(indent);
    }
  }

  void print_body(const Facts& facts, int indent, std::string& text) const {
    int width = 0;
    for (const auto& [name, value] : facts.rows) width = std::max(width, display_width(name));
    for (const auto& [name, value] : facts.rows) {
      const std::string label = single_line(name);
      print_wrapped(to_text(value, style_.digits),
                    blanks(indent) + label + blanks(width - display_width(label) + kGap), text);
    }
  }

  void print_body(const Paragraph& paragraph, int indent, std::string& text) const {
    std::size_t start = 0;
    while (start <= paragraph.text.size()) {
      const std::size_t end = std::min(paragraph.text.find('\n', start), paragraph.text.size());
      print_wrapped(paragraph.text.substr(start, end - start), blanks(indent), text);
      start = end + 1;
    }
  }

  void print_body(const Code& code, int, std::string& text) const { text += code.text + "\n"; }

  void print_body(const Derivation& derivation, int indent, std::string& text) const {
    int number = 0;
    for (const Step& step : derivation.steps) {
      const std::string label = std::to_string(++number) + ". ";
      const int inner = indent + static_cast<int>(label.size());
      print_wrapped(step.statement, blanks(indent) + label, text);
      if (!step.formula.empty()) {
        text += blanks(inner + kIndent) + bold(single_line(step.formula)) + "\n";
      }
      if (!step.reason.empty()) print_wrapped(step.reason, blanks(inner) + "because: ", text);
      if (!step.condition.empty())
        print_wrapped(step.condition, blanks(inner) + "holds if: ", text);
    }
  }

  void print_body(const Table& table, int indent, std::string& text) const {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      columns.push_back(lay_out_column(table, i, style_.digits));
    }
    if (columns.empty()) return;
    if (style_.elide && table.key_columns > 0)
      return print_blocks(columns, table.key_columns, indent, text);
    const std::vector<std::string> left_out = elide(indent, columns);
    if (left_out.empty()) add_curves(table.curves, indent, columns);
    if (table.key_columns == 0) fit_last(columns, indent);
    print_columns(columns, indent, text);
    if (left_out.empty()) return;
    std::string note = "Too wide for this terminal, and left out: ";
    for (const std::string& name : left_out)
      note += (&name == &left_out.front() ? "" : ", ") + (name.empty() ? "(no name)" : name);
    print_wrapped(note + "; --wide shows every column.", blanks(indent), text);
  }

  /// The first `keys` columns with as many of the others as fit, then with the next ones.
  void print_blocks(const std::vector<Column>& columns, std::size_t keys, int indent,
                    std::string& text) const {
    int key_width = indent;
    for (std::size_t i = 0; i < keys; ++i) key_width += columns[i].width + kGap;
    for (std::size_t next = keys; next < columns.size();) {
      if (next > keys) text += "\n";
      std::vector<Column> block(columns.begin(), columns.begin() + static_cast<long>(keys));
      int used = key_width;
      do {
        used += columns[next].width + kGap;
        block.push_back(columns[next++]);
      } while (next < columns.size() && used + columns[next].width <= style_.width);
      print_columns(block, indent, text);
    }
  }

  void print_columns(const std::vector<Column>& columns, int indent, std::string& text) const {
    std::string names = blanks(indent), rules = names;
    for (const Column& column : columns) {
      const std::string padding = blanks(column.width - display_width(column.name));
      names += (column.numeric ? padding + column.name : column.name + padding) + blanks(kGap);
      rules += std::string(column.width, '-') + blanks(kGap);
    }
    text += bold(without_trailing_blanks(names)) + "\n";
    text += faint(without_trailing_blanks(rules)) + "\n";
    for (std::size_t row = 0; row < columns.front().cells.size(); ++row)
      print_row(columns, row, indent, text);
  }

  /// Keeps the first columns that fit; gives the names of the others. A last column of words may
  /// wrap.
  std::vector<std::string> elide(int indent, std::vector<Column>& columns) const {
    if (!style_.elide) return {};
    int used = indent;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      const int least = column.numeric ? column.width : narrowest(column);
      if (used + least <= style_.width) kept = i + 1;
      used += column.width + kGap;
      if (used > style_.width) break;
    }
    std::vector<std::string> left_out;
    for (std::size_t i = std::max<std::size_t>(kept, 1); i < columns.size(); ++i)
      left_out.push_back(columns[i].name);
    columns.resize(columns.size() - left_out.size());
    return left_out;
  }

  /// As wide as the room that is left; none where there is too little.
  void add_curves(const Curves& curves, int indent, std::vector<Column>& columns) const {
    if (!style_.curves || curves.column.empty()) return;
    int used = indent;
    for (const Column& column : columns) used += column.width + kGap;
    const std::string name = single_line(curves.column);
    const int room = std::min(style_.width - used, kWidestCurve);
    if (room < std::max(kNarrowestCurve, display_width(name))) return;
    Column column{name, std::vector<std::string>(columns.front().cells.size()), 0, false};
    for (std::size_t i = 0; i < std::min(curves.rows.size(), column.cells.size()); ++i) {
      column.cells[i] = sparkline(curves.rows[i], room, style_.unicode, curves.scale);
    }
    column.width = room;
    columns.push_back(std::move(column));
  }

  /// Narrows a last column of words to the room that is left, so that it wraps.
  void fit_last(std::vector<Column>& columns, int indent) const {
    int used = indent;
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) used += columns[i].width + kGap;
    Column& last = columns.back();
    const int room = std::max(style_.width - used, kNarrowestWrap);
    if (!last.numeric) last.width = std::min(last.width, room);
  }

  void print_row(const std::vector<Column>& columns, std::size_t row, int indent,
                 std::string& text) const {
    std::string line = blanks(indent);
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
      const std::string& cell = columns[i].cells[row];
      line += cell + blanks(columns[i].width - display_width(cell) + kGap);
    }
    const Column& last = columns.back();
    if (display_width(last.cells[row]) <= last.width) {
      text += without_trailing_blanks(line + last.cells[row]) + "\n";
    } else {
      print_wrapped(last.cells[row], line, text);
    }
  }

  Style style_;
};

}  // namespace

std::unique_ptr<Printer> make_table_printer(const Style& style) {
  return std::make_unique<TablePrinter>(style);
}

}  // namespace scalecalc::report
