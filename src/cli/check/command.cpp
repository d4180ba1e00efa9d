#include <algorithm>
#include <memory>

#include "cli/app.hpp"
#include "cli/check/document.hpp"
#include "cli/options.hpp"
#include "cli/standard_input.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc::cli {
namespace {

/// One claim, and nothing that takes time.
const std::string kExample = "printf '[[claim]]\\nname=\"root\"\\nassert=\"sqrt(4) == 2\"\\n'";

/// A path of claim_files(), or standard input.
ClaimsReport::File check_one(const std::string& path, const CheckOptions& options) {
  if (path == kStandardInput)
    return check_claims_text(read_standard_input("claim file"), kStandardInputName, options);
  return check_claims(path, options);
}

struct CheckFlags {
  std::vector<std::string> files;
  std::string junit, samples = "262144";
  bool github = false, mutate = false;
};

ClaimsReport check(const CheckFlags& flags, Context& context) {
  if (flags.files.empty())
    throw Error(ErrorKind::usage, "check what?", "scalecalc check",
                "for example scalecalc check claims.toml");
  if (std::count(flags.files.begin(), flags.files.end(), kStandardInput) > 1)
    throw Error(ErrorKind::usage, "standard input is read once", "scalecalc check", "give - once");
  CheckOptions options;
  options.samples =
      parse_integer("--samples", flags.samples, 4096, std::int64_t{1} << 32, "262144");
  PassOptions passes;
  context.set_passes(passes);
  options.seed = passes.seed;
  options.threads = passes.threads;
  options.device = passes.device;
  options.mutate = flags.mutate;
  const std::vector<std::string> paths = claim_files(flags.files);
  const Progress progress = context.progress();
  ClaimsReport report;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    options.progress = [&](double done, const std::string& what) {
      return !progress ||
             progress((static_cast<double>(k) + done) / static_cast<double>(paths.size()), what);
    };
    report.files.push_back(check_one(paths[k], options));
  }
  return report;
}

/// With --github an error is an annotation too, which its own line on stderr is not.
ClaimsReport check_or_annotate(const CheckFlags& flags, Context& context) {
  try {
    return check(flags, context);
  } catch (const Error& error) {
    if (flags.github) Output().write(github_annotation(error));
    throw;
  }
}

/// Annotations are lines on standard output, which no reader of JSON or CSV expects behind them.
void check_annotations(const Context& context) {
  const report::Format format = context.format();
  if (context.output_path() != "-" ||
      (format != report::Format::json && format != report::Format::csv))
    return;
  throw Error(ErrorKind::usage, "annotations and data would both go to standard output", "--github",
              "write the data to a file: -o claims.json");
}

}  // namespace

void register_check(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command =
      add_command(app, context,
                  {.name = "check",
                   .summary = "claims in files, each decided by every method that applies",
                   .examples = {kExample + " > c.toml; scalecalc check c.toml",
                                kExample + " | scalecalc check -"},
                   .form = check_form,
                   .uses = {.seed = true, .threads = true, .device = true}},
                  [&context, flags] {
                    if (flags->github) check_annotations(context);
                    if (!flags->junit.empty()) Output(flags->junit, "--junit");
                    const ClaimsReport report = check_or_annotate(*flags, context);
                    if (!flags->junit.empty())
                      Output(flags->junit, "--junit").write(junit_xml(report));
                    context.emit(check_document(report, flags->mutate));
                    if (flags->github) Output().write(github_annotations(report));
                    return report.passed() ? 0 : 1;
                  });
  const Options add{command};
  add.texts("files", flags->files, types::file(),
            "claim files (TOML), directories of them, or - for standard input");
  add.text("--junit", flags->junit, types::file(), "also write JUnit XML there");
  add.text("--samples", flags->samples, "N", "of each expectation by Monte Carlo");
  add.flag("--mutate", flags->mutate, "also change each claim, and ask that it no longer holds");
  add.flag("--github", flags->github, "also print annotations for GitHub's workflows");
}

}  // namespace scalecalc::cli
