#include "report/text.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace scalecalc::report {
namespace {

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

}  // namespace

int display_width(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues(byte); }));
}

std::string_view cut_to_width(std::string_view text, int width) {
  std::size_t end = 0;
  for (int columns = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && ++columns > width) break;
  }
  return text.substr(0, end);
}

std::string single_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return base::printable(line);
}

std::vector<std::string> wrap(std::string_view text, int width) {
  const std::string line = single_line(text);
  std::vector<std::string> lines;
  std::string current;
  for (std::size_t start = 0; start < line.size();) {
    const std::size_t end = std::min(line.find(' ', start), line.size());
    const std::string word = line.substr(start, end - start);
    start = end + 1;
    if (word.empty()) continue;
    if (!current.empty() && display_width(current) + 1 + display_width(word) > width) {
      lines.push_back(std::move(current));
      current.clear();
    }
    current += (current.empty() ? "" : " ") + word;
  }
  if (!current.empty() || lines.empty()) lines.push_back(current);
  return lines;
}

std::string to_text(const Value& value, int digits) {
  const auto all = [digits](std::size_t size, const auto& element) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < size; ++i) parts.push_back(to_text(element(i), digits));
    return join(parts);
  };
  const auto array = [&](const Value::Array& elements) {
    return all(elements.size(), [&](std::size_t i) -> const Value& { return elements[i]; });
  };
  const auto list = [&](const Value::List& elements) {
    return all(elements.size, elements.element);
  };
  const auto object = [digits](const Value::Object& members) {
    std::vector<std::string> parts;
    for (const auto& [name, member] : members) {
      parts.push_back(single_line(name) + ": " + to_text(member, digits));
    }
    return join(parts);
  };
  return std::visit(
      Overloaded{[](std::monostate) { return std::string("-"); },
                 [](bool truth) { return std::string(truth ? "yes" : "no"); },
                 [](std::int64_t number) { return std::to_string(number); },
                 [digits](double number) { return format_number(number, digits); },
                 [](const std::string& text) { return single_line(text); },
                 [](const Value::Digits& number) { return single_line(number.text); },
                 [](const Value::Formula& formula) { return single_line(formula.text); }, list,
                 array, object},
      value.data());
}

bool is_numeric(const Value& value) {
  const Value::Data& data = value.data();
  return std::holds_alternative<std::int64_t>(data) || std::holds_alternative<double>(data) ||
         std::holds_alternative<Value::Digits>(data);
}

bool is_for_curves(const Section& section) {
  const auto* table = std::get_if<Table>(&section.body);
  return table != nullptr && table->curves.only;
}

const Value& cell_at(const std::vector<Value>& row, std::size_t column) {
  static const Value empty;
  return column < row.size() ? row[column] : empty;
}

bool is_numeric_column(const Table& table, std::size_t column) {
  bool any = false;
  for (const std::vector<Value>& row : table.rows) {
    const Value& value = cell_at(row, column);
    if (std::holds_alternative<std::monostate>(value.data())) continue;
    if (!is_numeric(value)) return false;
    any = true;
  }
  return any;
}

}  // namespace scalecalc::report
