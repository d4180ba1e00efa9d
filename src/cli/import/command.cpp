#include <fmt/format.h>

#include <memory>

#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"
#include "scalecalc/graphs.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

/// What was read, and what it leaves out.
struct Imported {
  std::string source, architecture, class_name, library;
  ModelSpec spec;
  std::vector<std::string> remarks;
};

Imported imported_from(const std::string& path) {
  if (is_graph(path)) {
    const GraphModel graph = read_graph(path);
    return {graph.source,  "",         fmt::format("a graph of {} operations", graph.operations),
            graph.library, graph.spec, graph.remarks};
  }
  const LibraryModel library = is_weights(path) ? *read_config_argument(path) : read_config(path);
  return {library.source,  library.architecture, library.class_name,
          library.library, described(library),   library.remarks};
}

/// The model file, with what it leaves out as comments.
std::string text_of(const Imported& model) {
  std::string text =
      "# " + model.class_name + " of " + model.library + ", from " + model.source + "\n";
  for (const std::string& remark : model.remarks) text += "# " + remark + "\n";
  return text + model_text(model.spec);
}

report::Document import_document(const Imported& model) {
  const std::string toml = model_text(model.spec);
  report::Document document;
  document.command = "import";
  document.inputs["path"] = model.source;
  document.results["architecture"] = model.architecture;
  document.results["class"] = model.class_name;
  document.results["library"] = model.library;
  document.results["toml"] = toml;
  Value remarks = Value::array();
  for (const std::string& remark : model.remarks) remarks.push_back(remark);
  document.results["remarks"] = remarks;
  document.rows = {{"architecture", "class", "library", "toml"},
                   {{Value(model.architecture), model.class_name, model.library, toml}}};
  document.sections = {
      {base::shortened(model.source) + ": " + model.class_name + " of " + model.library,
       report::Paragraph{toml}}};
  for (const std::string& remark : model.remarks)
    document.sections.push_back({"", report::Paragraph{remark}});
  return document;
}

}  // namespace

JsonForm import_form() {
  using namespace shapes;
  return {object({{"path", text(), "the file that was read"}}),
          object({{"architecture", text(), "model_type; empty of a graph"},
                  {"class", text(), "of the library; of a graph how many operations it has"},
                  {"library", text(), "and its release"},
                  {"toml", text(), "the model file with every key"},
                  {"remarks", list(text()), "what it leaves out and what that may change"}})};
}

void register_import(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, context,
      {.name = "import",
       .summary = "a model file from a config.json, weights or a graph, with what it leaves out",
       .examples =
           {"echo '{\"model_type\": \"llama\"}' > config.json; scalecalc import config.json",
            "echo '{\"model_type\": \"llama\"}' > config.json; scalecalc import . -o m.toml"},
       .form = import_form,
       .prepare = [&context] { context.take_extensions({".toml"}); }},
      [&context, path] {
        if (path->empty())
          throw Error(
              ErrorKind::usage, "a path is missing", "scalecalc import",
              "a config.json, a folder with one, a .safetensors or a .pt2 file: scalecalc import "
              "./my-model");
        const Imported model = imported_from(*path);
        if (context.is_format_chosen())
          context.emit(import_document(model));
        else
          context.emit_text(text_of(model));
        return 0;
      });
  Options{command}.text("path", *path, types::file(),
                        "a config.json, a folder with one, a file of weights, or a graph (.pt2)");
}

}  // namespace scalecalc::cli
