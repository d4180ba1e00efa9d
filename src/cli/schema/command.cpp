#include <memory>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/side_by_side/form.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

/// The commands that print JSON, in the order of the help.
std::vector<const Command*> commands_of(const CLI::App& app) {
  std::vector<const Command*> commands;
  for (const CLI::App* one : app.get_subcommands(nullptr)) {
    const auto* command = dynamic_cast<const Command*>(one);
    if (command != nullptr && command->form != nullptr) commands.push_back(command);
  }
  return commands;
}

report::Document list_schemas(const CLI::App& app) {
  report::Document document;
  document.command = "schema";
  document.rows.columns = {"name", "id", "summary"};
  for (const Command* command : commands_of(app))
    document.rows.rows.push_back(
        {command->get_name(), schema_id(command->get_name()), command->get_description()});
  document.results["schemas"] = report::records(document.rows);
  document.sections = {{"Schemas of --format json", document.rows}};
  return document;
}

JsonForm form_of(const Command& command) {
  const JsonForm single = command.form();
  if (command.needs_lists) return lists_alone(single);
  return command.takes_lists ? with_lists(single) : single;
}

Value schema_of(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : commands_of(app)) {
    if (command->get_name() == name)
      return json_schema(name, command->get_description(), form_of(*command));
    names.push_back(command->get_name());
  }
  const auto others =
      app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  if (!others.empty())
    throw Error(ErrorKind::usage, name + " prints a text alone", "scalecalc schema",
                "scalecalc schema lists the commands that print JSON");
  throw unknown_name("command", name, names, "scalecalc schema", ErrorKind::usage);
}

}  // namespace

JsonForm schema_form() {
  using namespace shapes;
  const Shape entry = object({{"name", text(), "the command"},
                              {"id", text(), "$id of its schema, with the program's version"},
                              {"summary", text(), "what the command does"}});
  return {object({}), object({{"schemas", list(entry), "of every command that prints JSON"}})};
}

void register_schema(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, context,
      {.name = "schema",
       .summary = "the JSON Schema of what a command prints with --format json",
       .examples = {"scalecalc schema", "scalecalc schema deepnorm -o deepnorm.schema.json"},
       .form = schema_form},
      [&app, &context, name] {
        if (name->empty()) {
          context.emit(list_schemas(app));
          return 0;
        }
        const Value schema = schema_of(app, *name);
        if (context.is_format_chosen() && context.format() != report::Format::json)
          throw Error(ErrorKind::usage, "a schema is JSON", "scalecalc schema " + *name,
                      "leave --format out, and give -o a file that ends in .json");
        context.emit_text(report::to_json(schema));
        return 0;
      });
  const auto names = [&app] {
    std::vector<std::string> all;
    for (const Command* one : commands_of(app)) all.push_back(one->get_name());
    return all;
  };
  const Options add{command};
  add.text("command", *name, {"COMMAND", names}, "whose output it is; without it, the list of all");
}

}  // namespace scalecalc::cli
