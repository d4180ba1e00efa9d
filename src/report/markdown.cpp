#include <fmt/format.h>

#include "report/printer.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

std::string escape(const std::string& text) {
  static const std::string special = "\\|*_`<>[]$";
  std::string escaped;
  for (char c : single_line(text)) {
    if (special.find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Formulas stand between backticks, which no formula contains.
std::string code(const std::string& formula) {
  return fmt::format("`{}`", single_line(formula));
}

class MarkdownPrinter : public Printer {
 public:
  explicit MarkdownPrinter(const Style& style) : style_(style) {}

  std::string print(const Document& document) const override {
    std::string text;
    for (const Section& section : document.sections) {
      if (is_for_curves(section)) continue;
      if (!text.empty()) text += "\n";
      if (!section.title.empty()) text += "## " + escape(section.title) + "\n\n";
      std::visit([&](const auto& body) { print_body(body, text); }, section.body);
    }
    return text;
  }

 private:
  std::string cell(const Value& value) const { return escape(to_text(value, style_.digits)); }

  void print_body(const Facts& facts, std::string& text) const {
    text += "| | |\n|:---|:---|\n";
    for (const auto& [name, value] : facts.rows) {
      text += "| " + escape(name) + " | " + cell(value) + " |\n";
    }
  }

  void print_body(const Table& table, std::string& text) const {
    if (table.columns.empty()) return;
    std::string names = "|", rules = "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      names += fmt::format(" {} |", escape(table.columns[i]));
      rules += is_numeric_column(table, i) ? "---:|" : ":---|";
    }
    text += names + "\n" + rules + "\n";
    for (const std::vector<Value>& row : table.rows) {
      text += "|";
      for (std::size_t i = 0; i < table.columns.size(); ++i)
        text += fmt::format(" {} |", cell(cell_at(row, i)));
      text += "\n";
    }
  }

  void print_body(const Paragraph& paragraph, std::string& text) const {
    std::size_t start = 0;
    while (start <= paragraph.text.size()) {
      const std::size_t end = std::min(paragraph.text.find('\n', start), paragraph.text.size());
      if (start > 0) text += "\n";
      text += escape(paragraph.text.substr(start, end - start)) + "\n";
      start = end + 1;
    }
  }

  void print_body(const Code& code, std::string& text) const {
    text += "```\n" + code.text + "\n```\n";
  }

  void print_body(const Derivation& derivation, std::string& text) const {
    int number = 0;
    for (const Step& step : derivation.steps) {
      const std::string label = std::to_string(++number) + ". ";
      const std::string indent(label.size(), ' ');
      text += label + escape(step.statement) + "\n";
      if (!step.formula.empty()) text += "\n" + indent + code(step.formula) + "\n";
      if (!step.reason.empty()) text += "\n" + indent + "Because: " + escape(step.reason) + "\n";
      if (!step.condition.empty()) {
        text += "\n" + indent + "Holds if: " + escape(step.condition) + "\n";
      }
    }
  }

  Style style_;
};

}  // namespace

std::unique_ptr<Printer> make_markdown_printer(const Style& style) {
  return std::make_unique<MarkdownPrinter>(style);
}

}  // namespace scalecalc::report
