#include <memory>

#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"

namespace scalecalc::cli {
namespace {

/// The model file, with what it leaves out as comments.
std::string imported(const LibraryModel& library) {
  std::string text =
      "# " + library.class_name + " of " + library.library + ", from " + library.source + "\n";
  for (const std::string& remark : library.remarks) text += "# " + remark + "\n";
  return text + model_text(described(library));
}

}  // namespace

void register_import(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = add_command(
      app, context,
      {.name = "import",
       .summary = "a model file from a config.json, with a remark for what it leaves out",
       .examples =
           {"echo '{\"model_type\": \"llama\"}' > config.json; scalecalc import config.json",
            "echo '{\"model_type\": \"llama\"}' > config.json; scalecalc import . -o m.toml"},
       .prepare = [&context] { context.take_extensions({".toml"}); }},
      [&context, path] {
        if (path->empty())
          throw Error(ErrorKind::usage, "a path is missing", "scalecalc import",
                      "a config.json, or a folder with one: scalecalc import ./my-model");
        context.emit_text(imported(read_config(*path)));
        return 0;
      });
  Options{command}.text("path", *path, types::file(), "a config.json, or a folder with one");
}

}  // namespace scalecalc::cli
