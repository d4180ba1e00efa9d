#include <memory>

#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/propagate/document.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

report::Document list_presets() {
  report::Document document;
  document.command = "presets";
  document.rows.columns = {"name", "title", "model"};
  Value list = Value::array();
  for (const Preset& preset : presets()) {
    const std::string line = model_line(find_model(preset.name));
    Value entry = Value::object();
    entry["name"] = preset.name;
    entry["title"] = preset.title;
    entry["model"] = line;
    list.push_back(entry);
    document.rows.rows.push_back({preset.name, preset.title, line});
  }
  document.results["presets"] = list;
  report::Table table{{"name", "title"}, {}};
  for (const Preset& preset : presets()) table.rows.push_back({preset.name, preset.title});
  document.sections = {
      {"Presets", table},
      {"", report::Paragraph{"scalecalc presets NAME shows one; propagate and verify take a "
                             "name where they take a file."}}};
  return document;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

/// As it is written, which reads back, with what the program calls it.
std::string model_file(const std::string& name) {
  const Preset& found = preset(name, "scalecalc presets");
  return "# scalecalc presets " + found.name + ": " + model_line(find_model(found.name)) + "\n" +
         std::string(found.toml);
}

report::Document show_preset(const std::string& name) {
  const Preset& found = preset(name, "scalecalc presets");
  const ModelSpec spec = find_model(found.name);
  const std::string understood = model_text(spec);
  report::Document document;
  document.command = "presets";
  document.inputs["name"] = found.name;
  document.results["name"] = found.name;
  document.results["title"] = found.title;
  document.results["model"] = model_line(spec);
  document.results["toml"] = std::string(found.toml);
  document.results["understood"] = understood;
  document.rows = {{"name", "title", "toml", "understood"},
                   {{found.name, found.title, std::string(found.toml), understood}}};
  document.sections = {{found.name + ": " + found.title, report::Paragraph{model_line(spec)}},
                       {"As it is written", report::Paragraph{std::string(found.toml)}},
                       {"As it is understood, every key", report::Paragraph{understood}}};
  return document;
}

}  // namespace

void register_presets(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, context,
                  {.name = "presets",
                   .summary = "models that come with the program, each as a model file",
                   .examples = {"scalecalc presets",
                                "scalecalc presets gpt2 > my.toml; scalecalc propagate my.toml"},
                   .form = presets_form,
                   .prepare =
                       [&context, name] {
                         if (!name->empty()) context.take_extensions({".toml"});
                       }},
                  [&context, name] {
                    if (name->empty())
                      context.emit(list_presets());
                    else if (context.is_format_chosen())
                      context.emit(show_preset(*name));
                    else
                      context.emit_text(model_file(*name));
                    return 0;
                  });
  const Options add{command};
  add.text("name", *name, {"NAME", preset_names}, "one of them, to be printed as a model file");
}

}  // namespace scalecalc::cli
