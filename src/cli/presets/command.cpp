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
  document.results["toml"] = found.toml;
  document.results["understood"] = understood;
  document.rows = {{"name", "title", "toml", "understood"},
                   {{found.name, found.title, found.toml, understood}}};
  document.sections = {{found.name + ": " + found.title, report::Paragraph{model_line(spec)}},
                       {"As it is written", report::Paragraph{found.toml}},
                       {"As it is understood, every key", report::Paragraph{understood}}};
  return document;
}

}  // namespace

void register_presets(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, context, "presets", "models that come with the program", [&context, name] {
        context.emit(name->empty() ? list_presets() : show_preset(*name));
        return 0;
      });
  const Options add{command};
  add.text("name", *name, "NAME", "one of them, to be shown as a model file");
}

}  // namespace scalecalc::cli
