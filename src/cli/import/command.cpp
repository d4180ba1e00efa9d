#include <memory>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

/// The model file, with what it leaves out as comments.
std::string imported(const LibraryModel& library) {
  std::string text =
      "# " + library.class_name + " of " + library.library + ", from " + library.source + "\n";
  for (const std::string& remark : library.remarks) text += "# " + remark + "\n";
  return text + model_text(described(library));
}

report::Document import_document(const LibraryModel& library) {
  const std::string toml = model_text(described(library));
  report::Document document;
  document.command = "import";
  document.inputs["path"] = library.source;
  document.results["architecture"] = library.architecture;
  document.results["class"] = library.class_name;
  document.results["library"] = library.library;
  document.results["toml"] = toml;
  Value remarks = Value::array();
  for (const std::string& remark : library.remarks) remarks.push_back(remark);
  document.results["remarks"] = remarks;
  document.rows = {{"architecture", "class", "library", "toml"},
                   {{Value(library.architecture), library.class_name, library.library, toml}}};
  document.sections = {
      {base::shortened(library.source) + ": " + library.class_name + " of " + library.library,
       report::Paragraph{toml}}};
  for (const std::string& remark : library.remarks)
    document.sections.push_back({"", report::Paragraph{remark}});
  return document;
}

}  // namespace

JsonForm import_form() {
  using namespace shapes;
  return {object({{"path", text(), "the file that was read"}}),
          object({{"architecture", text(), "model_type"},
                  {"class", text(), "of the library"},
                  {"library", text(), "and its release"},
                  {"toml", text(), "the model file with every key"},
                  {"remarks", list(text()), "what it leaves out and what that may change"}})};
}

void register_import(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, context,
      {.name = "import",
       .summary = "a model file from a config.json or weights, with what it leaves out",
       .examples =
           {"echo '{\"model_type\": \"llama\"}' > config.json; scalecalc import config.json",
            "echo '{\"model_type\": \"llama\"}' > config.json; scalecalc import . -o m.toml"},
       .form = import_form,
       .prepare = [&context] { context.take_extensions({".toml"}); }},
      [&context, path] {
        if (path->empty())
          throw Error(ErrorKind::usage, "a path is missing", "scalecalc import",
                      "a config.json, a folder with one, or a .safetensors file: scalecalc import "
                      "./my-model");
        const LibraryModel library =
            is_weights(*path) ? *read_config_argument(*path) : read_config(*path);
        if (context.is_format_chosen())
          context.emit(import_document(library));
        else
          context.emit_text(imported(library));
        return 0;
      });
  Options{command}.text("path", *path, types::file(),
                        "a config.json, a folder with one, or a file of weights");
}

}  // namespace scalecalc::cli
