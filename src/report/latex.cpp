#include <fmt/format.h>

#include <utility>

#include "report/printer.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

std::string escape(char c) {
  switch (c) {
    case '\\': return "\\textbackslash{}";
    case '~': return "\\textasciitilde{}";
    case '^': return "\\textasciicircum{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '[': return "{[}";  // after a line's end it would begin an option
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}': return std::string("\\") + c;
    default: return std::string(1, c);
  }
}

std::string escape(const std::string& text) {
  std::string escaped;
  for (char c : single_line(text)) escaped += escape(c);
  return escaped;
}

std::string formula(const Step& step) {
  if (step.formula_latex.empty()) return "\\texttt{" + escape(step.formula) + "}";
  return fmt::format("${}$", single_line(step.formula_latex));
}

class LatexPrinter : public Printer {
 public:
  explicit LatexPrinter(const Style& style) : style_(style) {}

  std::string print(const Document& document) const override {
    std::string text = "% \\usepackage{booktabs}\n";
    bool is_first = true;
    for (const Section& section : document.sections) {
      if (is_for_curves(section)) continue;
      if (!std::exchange(is_first, false)) text += "\n";
      if (!section.title.empty()) text += "\\subsection*{" + escape(section.title) + "}\n";
      std::visit([&](const auto& body) { print_body(body, text); }, section.body);
    }
    return text;
  }

 private:
  std::string cell(const Value& value) const {
    if (const auto* formula = std::get_if<Value::Formula>(&value.data()))
      return "$" + single_line(formula->latex) + "$";
    return escape(to_text(value, style_.digits));
  }

  void print_body(const Facts& facts, std::string& text) const {
    text += "\\begin{tabular}{ll}\n\\toprule\n";
    for (const auto& [name, value] : facts.rows) {
      text += escape(name) + " & " + cell(value) + " \\\\\n";
    }
    text += "\\bottomrule\n\\end{tabular}\n";
  }

  void print_body(const Table& table, std::string& text) const {
    if (table.columns.empty()) return;
    std::string names, alignment;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      names += (i == 0 ? "" : " & ") + escape(table.columns[i]);
      alignment += is_numeric_column(table, i) ? 'r' : 'l';
    }
    text += "\\begin{tabular}{" + alignment + "}\n\\toprule\n" + names + " \\\\\n\\midrule\n";
    for (const std::vector<Value>& row : table.rows) {
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        text += (i == 0 ? "" : " & ") + cell(cell_at(row, i));
      }
      text += " \\\\\n";
    }
    text += "\\bottomrule\n\\end{tabular}\n";
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
    text += "\\begin{verbatim}\n" + code.text + "\n\\end{verbatim}\n";
  }

  void print_body(const Derivation& derivation, std::string& text) const {
    if (derivation.steps.empty()) return;
    text += "\\begin{enumerate}\n";
    for (const Step& step : derivation.steps) {
      text += "\\item " + escape(step.statement);
      if (!step.formula.empty() || !step.formula_latex.empty()) text += " \\\\\n  " + formula(step);
      if (!step.reason.empty()) text += " \\\\\n  Because: " + escape(step.reason);
      if (!step.condition.empty()) text += " \\\\\n  Holds if: " + escape(step.condition);
      text += "\n";
    }
    text += "\\end{enumerate}\n";
  }

  Style style_;
};

}  // namespace

std::unique_ptr<Printer> make_latex_printer(const Style& style) {
  return std::make_unique<LatexPrinter>(style);
}

}  // namespace scalecalc::report
