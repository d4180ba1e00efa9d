#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/options.hpp"
#include "cli/table/tables.hpp"

namespace scalecalc::cli {
namespace {

namespace fs = std::filesystem;

struct TableFlags {
  std::string name;
  bool all = false, compare = false;
};

struct FileFormat {
  const char* extension;
  report::Format format;
};
constexpr std::uint64_t kMostTableBytes = std::uint64_t{1} << 26;
constexpr FileFormat formats[] = {{".md", report::Format::markdown},
                                  {".csv", report::Format::csv},
                                  {".json", report::Format::json}};

std::string print(const report::Document& document, report::Format format) {
  report::Style style;
  style.digits = kTableDigits;
  return report::make_printer(format, style)->print(document);
}

/// Empty when it is missing or unreadable.
std::string text_of(const fs::path& path) {
  try {
    return base::read_input(path.string(), {"table", "", kMostTableBytes});
  } catch (const Error&) {
    return {};
  }
}

/// Every file of every table, made anew: written, or compared with what is there.
class Folder {
 public:
  explicit Folder(const std::string& folder) : folder_(folder) {
    std::error_code ignored;
    if (folder == "-")
      throw Error(ErrorKind::usage, "--all needs a folder", "-o", "for example -o tables/");
    if (!fs::is_directory(folder_, ignored))
      throw Error(ErrorKind::input, "no such folder", base::shortened(folder),
                  "make it, or give -o another");
  }

  void write() const {
    each([&](const fs::path& path, const std::string& text) {
      std::error_code failed;
      fs::create_directories(path.parent_path(), failed);
      Output(path.string()).write(text);
    });
  }

  /// The files that differ from what the program makes.
  std::vector<std::string> compare() const {
    std::vector<std::string> different;
    each([&](const fs::path& path, const std::string& text) {
      if (text_of(path) != text) different.push_back(path.string());
    });
    return different;
  }

 private:
  template <class Use>
  void each(const Use& use) const {
    for (const GeneratedTable& table : generated_tables()) {
      const report::Document document = table.make();
      for (const FileFormat& format : formats)
        use(folder_ / (table.stem + format.extension), print(document, format.format));
    }
  }

  fs::path folder_;
};

report::Document compare_document(const std::vector<std::string>& different) {
  report::Document document;
  document.command = "table";
  report::Value list = report::Value::array();
  document.rows.columns = {"differs"};
  for (const std::string& path : different) {
    list.push_back(path);
    document.rows.rows.push_back({path});
  }
  document.results["different"] = list;
  document.results["passed"] = different.empty();
  const std::string words = different.empty() ? "The tables are what this program makes."
                                              : "scalecalc table --all -o FOLDER writes them anew.";
  if (!different.empty()) document.sections.push_back({"Files that differ", document.rows});
  document.sections.push_back({"", report::Paragraph{words}});
  return document;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const GeneratedTable& table : generated_tables()) names.push_back(table.name);
  return names;
}

int run_all(const TableFlags& flags, Context& context) {
  if (!flags.name.empty())
    throw Error(ErrorKind::usage, "--all and the name of a table are both given", "scalecalc table",
                "keep one of the two");
  const Folder folder(context.output_path());
  if (!flags.compare) {
    folder.write();
    return 0;
  }
  const std::vector<std::string> different = folder.compare();
  context.emit_to_stdout(compare_document(different));
  return different.empty() ? 0 : 1;
}

int run_table(const TableFlags& flags, Context& context) {
  if (flags.all) return run_all(flags, context);
  if (flags.compare)
    throw Error(ErrorKind::usage, "--compare belongs to --all", "--compare",
                "scalecalc table --all --compare -o tables/");
  if (flags.name.empty())
    throw Error(ErrorKind::usage, "which table?", "scalecalc table",
                "for example scalecalc table activations (scalecalc list tables)");
  context.emit(generated_table(flags.name).make());
  return 0;
}

}  // namespace

void register_table(CLI::App& app, Context& context) {
  auto flags = std::make_shared<TableFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "table",
       .summary = "the tables that come with the program",
       .examples = {"scalecalc table activations", "scalecalc table schemes --format csv"},
       .form = table_form,
       .uses = kNumbers},
      [&context, flags] { return run_table(*flags, context); });
  const Options add{command};
  add.text("name", flags->name, {"NAME", table_names},
           "one of them (scalecalc list tables), to be printed");
  add.flag("--all", flags->all, "every table as Markdown, CSV and JSON into the folder of -o",
           [&context] { context.write_into_folder(); });
  add.flag("--compare", flags->compare, "with --all: compare what is there, write nothing");
}

}  // namespace scalecalc::cli
