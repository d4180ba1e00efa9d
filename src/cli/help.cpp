#include "cli/help.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/command.hpp"

namespace scalecalc::cli {
namespace {

constexpr int kWidth = 80;
constexpr char kListNote[] =
    "LIST: values with commas between them (an ARGUMENT... is several words); every combination is "
    "a "
    "column of one table.";

std::string with_default(const std::string& help, const std::string& standard) {
  return standard.empty() || help.find("default") != std::string::npos
             ? help
             : help + " (default " + standard + ")";
}

HelpOption describe(const Command& command, const CLI::Option* option) {
  HelpOption shown;
  const auto type = command.types.find(option);
  if (type != command.types.end()) shown.type = type->second;
  shown.takes_value = type != command.types.end();
  shown.takes_list = std::any_of(command.axes.begin(), command.axes.end(),
                                 [&](const Axis& axis) { return axis.parsed == option; });
  shown.is_argument = option->get_positional();
  if (shown.takes_list && !shown.is_argument && shown.type.path == ValueType::Path::none)
    shown.type.is_list = true;
  if (shown.is_argument) {
    shown.names = {shown.type.placeholder};
  } else {
    for (const std::string& name : option->get_snames()) shown.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) shown.names.push_back("--" + name);
  }
  const auto standard = command.defaults.find(option);
  shown.help = with_default(option->get_description(),
                            standard == command.defaults.end() ? "" : standard->second);
  if (option == command.get_help_ptr()) shown.help = "print this help and stop";
  return shown;
}

std::string title_of(const HelpOption& shown, const CLI::Option* option) {
  if (shown.is_argument) return "Arguments";
  return option->get_group();
}

/// Arguments, the command's own, and then in the order of `late`, others before them.
int rank_of(const std::string& title) {
  const std::vector<std::string> order = {"Arguments", "Options"};
  const std::vector<std::string> late = {"Work", "Output"};
  const auto first = std::find(order.begin(), order.end(), title);
  if (first != order.end()) return static_cast<int>(first - order.begin());
  const auto last = std::find(late.begin(), late.end(), title);
  return last == late.end() ? 10 : 20 + static_cast<int>(last - late.begin());
}

void add_option(HelpPage& page, const HelpOption& shown, const std::string& title) {
  const auto found = std::find_if(page.groups.begin(), page.groups.end(),
                                  [&](const HelpGroup& group) { return group.title == title; });
  if (found == page.groups.end())
    page.groups.push_back({title, {shown}});
  else
    found->options.push_back(shown);
}

std::string usage_of(const HelpPage& page) {
  std::string usage = page.name;
  if (!page.commands.empty()) usage += " COMMAND";
  for (const HelpGroup& group : page.groups)
    if (group.title == "Arguments")
      for (const HelpOption& option : group.options)
        usage += " [" + option.heading() + "]" + (option.takes_list ? "..." : "");
  return usage + " [OPTION]...";
}

/// A word, or words of a shell, in the language of man.
std::string escaped(const std::string& words) {
  std::string text;
  for (const char letter : words) {
    if (letter == '\\')
      text += "\\e";
    else if (letter == '-')
      text += "\\-";
    else
      text += letter;
  }
  return text.starts_with('.') || text.starts_with('\'') ? "\\&" + text : text;
}

std::string upper(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return text;
}

bool takes_lists(const HelpPage& page) {
  return std::any_of(page.groups.begin(), page.groups.end(), [](const HelpGroup& group) {
    return std::any_of(group.options.begin(), group.options.end(),
                       [](const HelpOption& option) { return option.takes_list; });
  });
}

std::vector<report::Section> sections_of(const HelpPage& page) {
  std::string examples;
  for (const std::string& example : page.examples)
    examples += (examples.empty() ? "" : "\n") + example;
  std::vector<report::Section> sections = {{"", report::Paragraph{page.name + ": " + page.summary}},
                                           {"Usage", report::Paragraph{page.usage}},
                                           {"Examples", report::Paragraph{examples}}};
  report::Facts commands;
  for (const auto& [name, summary] : page.commands) commands.rows.emplace_back(name, summary);
  if (!commands.rows.empty()) sections.push_back({"Commands", commands});
  for (const HelpGroup& group : page.groups) {
    report::Facts options;
    for (const HelpOption& option : group.options)
      options.rows.emplace_back(option.heading(), option.help);
    sections.push_back({group.title, options});
  }
  if (takes_lists(page)) sections.push_back({"", report::Paragraph{kListNote}});
  if (!page.commands.empty())
    sections.push_back(
        {"", report::Paragraph{"scalecalc help COMMAND tells more. Options of Work and Output "
                               "stand before the command or behind it, where it has a use for "
                               "them."}});
  return sections;
}

}  // namespace

std::string HelpOption::heading() const {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (!takes_value || is_argument) return text;
  return text + " " + type.placeholder + (takes_list ? "|LIST" : "");
}

HelpPage help_page(const CLI::App& app) {
  HelpPage page;
  page.name = full_name(app);
  page.summary = app.get_description();
  for (const CLI::App* command : app.get_subcommands(nullptr))
    page.commands.emplace_back(command->get_name(), command->get_description());
  const auto& command = dynamic_cast<const Command&>(app);
  page.examples = command.examples;
  for (const CLI::Option* option : app.get_options()) {
    const HelpOption shown = describe(command, option);
    add_option(page, shown, title_of(shown, option));
  }
  std::stable_sort(
      page.groups.begin(), page.groups.end(),
      [](const HelpGroup& a, const HelpGroup& b) { return rank_of(a.title) < rank_of(b.title); });
  page.usage = usage_of(page);
  return page;
}

std::string help_text(const HelpPage& page) {
  report::Style style;
  style.width = kWidth;
  return report::make_printer(report::Format::table, style)->print(help_document(page));
}

std::string man_page(const HelpPage& page) {
  std::string title = page.name;
  std::replace(title.begin(), title.end(), ' ', '-');
  std::string text = ".TH " + escaped(upper(title)) + " 1 \"\" \"scalecalc " + report::version() +
                     "\" \"User Commands\"\n.SH NAME\n" + escaped(title) + " \\- " +
                     escaped(page.summary) + "\n.SH SYNOPSIS\n" + escaped(page.usage) + "\n";
  if (!page.commands.empty()) text += ".SH COMMANDS\n";
  for (const auto& [name, summary] : page.commands)
    text += ".TP\n.BR scalecalc\\-" + escaped(name) + " (1)\n" + escaped(summary) + "\n";
  for (const HelpGroup& group : page.groups) {
    text += ".SH " + escaped(upper(group.title)) + "\n";
    for (const HelpOption& option : group.options)
      text += ".TP\n.B " + escaped(option.heading()) + "\n" + escaped(option.help) + "\n";
  }
  if (takes_lists(page)) text += ".SH LISTS\n" + escaped(kListNote) + "\n";
  text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : page.examples) text += escaped(example) + "\n";
  text +=
      ".fi\n.SH \"EXIT STATUS\"\n"
      "0 done; 1 a check failed; 2 wrong usage or input; 3 a fault outside.\n"
      ".SH \"SEE ALSO\"\n";
  return text + (page.commands.empty() ? ".BR scalecalc (1)\n" : ".BR scalecalc\\-help (1)\n");
}

report::Document help_document(const HelpPage& page) {
  using report::Value;
  report::Document document;
  document.command = "help";
  document.inputs["command"] = page.name;
  document.results["summary"] = page.summary;
  document.results["usage"] = page.usage;
  document.results["examples"] = Value::array();
  for (const std::string& example : page.examples) document.results["examples"].push_back(example);
  document.results["commands"] = Value::array();
  for (const auto& [name, summary] : page.commands) {
    Value command = Value::object();
    command["name"] = name;
    command["summary"] = summary;
    document.results["commands"].push_back(command);
  }
  document.rows.columns = {"names", "type", "help", "group", "list"};
  for (const HelpGroup& group : page.groups)
    for (const HelpOption& option : group.options) {
      Value names = Value::array();
      for (const std::string& name : option.names) names.push_back(name);
      document.rows.rows.push_back({names,
                                    option.takes_value ? Value(option.type.placeholder) : Value(),
                                    option.help, group.title, option.takes_list});
    }
  document.results["options"] = report::records(document.rows);
  document.sections = sections_of(page);
  return document;
}

}  // namespace scalecalc::cli
