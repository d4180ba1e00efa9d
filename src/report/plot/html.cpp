#include <fmt/format.h>

#include <algorithm>

#include "report/plot/svg.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

constexpr char kHead[] = R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
)";
constexpr char kStyle[] = R"(<style>
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #ccd1d7; --faint: #59636e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dfe3e8; --paper: #14171b; --line: #3a4149; --faint: #9aa4af; }
}
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { max-width: 48rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th.number, td.number { text-align: right; }
thead th { border-bottom: 2px solid var(--line); white-space: nowrap; }
tbody th { font-weight: normal; color: var(--faint); white-space: nowrap; }
figure { margin: 1.5rem 0; }
svg { display: block; max-width: 100%; height: auto; color: var(--ink); }
footer { margin-top: 2rem; color: var(--faint); font-size: .85rem; }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --line: #999; --faint: #333; }
  main { max-width: none; padding: 0; }
  .wide { overflow: visible; }
  figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
}
</style>
)";
constexpr int kDigits = 5;

std::string cell(const Value& value) {
  return escape_xml(to_text(value, kDigits));
}

const char* class_of(const Table& table, std::size_t column) {
  return is_numeric_column(table, column) ? " class=\"number\"" : "";
}

void print(const Facts& facts, std::string& html) {
  html += "<div class=\"wide\"><table><tbody>\n";
  for (const auto& [name, value] : facts.rows) {
    html +=
        "<tr><th scope=\"row\">" + escape_xml(name) + "</th><td>" + cell(value) + "</td></tr>\n";
  }
  html += "</tbody></table></div>\n";
}

void print(const Table& table, std::string& html) {
  html += "<div class=\"wide\"><table><thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(table, i),
                        escape_xml(table.columns[i]));
  }
  html += "</tr></thead><tbody>\n";
  for (const std::vector<Value>& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      html += fmt::format("<td{}>{}</td>", class_of(table, i), cell(cell_at(row, i)));
    }
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
}

void print(const Paragraph& paragraph, std::string& html) {
  for (std::size_t start = 0; start <= paragraph.text.size();) {
    const std::size_t end = std::min(paragraph.text.find('\n', start), paragraph.text.size());
    html += "<p>" + escape_xml(paragraph.text.substr(start, end - start)) + "</p>\n";
    start = end + 1;
  }
}

void print(const Code& code, std::string& html) {
  html += "<pre>" + escape_xml(code.text) + "</pre>\n";
}

void print(const Derivation& derivation, std::string& html) {
  html += "<ol>\n";
  for (const Step& step : derivation.steps) {
    html += "<li>" + escape_xml(step.statement);
    if (!step.formula.empty()) html += "<br><code>" + escape_xml(step.formula) + "</code>";
    if (!step.reason.empty()) html += "<br>Because: " + escape_xml(step.reason);
    if (!step.condition.empty()) html += "<br>Holds if: " + escape_xml(step.condition);
    html += "</li>\n";
  }
  html += "</ol>\n";
}

void print(const Section& section, std::string& html) {
  if (is_for_curves(section)) return;
  if (!section.title.empty()) html += "<h2>" + escape_xml(section.title) + "</h2>\n";
  std::visit([&html](const auto& body) { print(body, html); }, section.body);
}

void print(const Plot& plot, std::string& html) {
  html += "<figure>\n" + to_inline_svg(plot) + "</figure>\n";
}

}  // namespace

std::string to_html(const Page& page) {
  const std::string title = escape_xml(page.title);
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n";
  html += kHead;
  html += "<title>" + title + "</title>\n";
  html += kStyle;
  html += "</head>\n<body>\n<main>\n<h1>" + title + "</h1>\n";
  for (const PagePart& part : page.parts) {
    std::visit([&html](const auto& each) { print(each, html); }, part);
  }
  return html + "<footer>scalecalc " + escape_xml(version()) +
         "</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace scalecalc::report
