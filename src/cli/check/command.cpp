#include <memory>

#include "cli/app.hpp"
#include "cli/check/document.hpp"
#include "cli/options.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc::cli {
namespace {

struct CheckFlags {
  std::vector<std::string> files;
  std::string junit, samples = "262144";
  bool github = false, mutate = false;
};

ClaimsReport check(const CheckFlags& flags, Context& context) {
  if (flags.files.empty())
    throw Error(ErrorKind::usage, "check what?", "scalecalc check",
                "for example scalecalc check claims.toml");
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
    report.files.push_back(check_claims(paths[k], options));
  }
  return report;
}

}  // namespace

void register_check(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command =
      add_command(app, context, "check",
                  "claims in files, each decided by every method that applies", [&context, flags] {
                    if (!flags->junit.empty()) Output(flags->junit, "--junit");
                    const ClaimsReport report = check(*flags, context);
                    if (!flags->junit.empty())
                      Output(flags->junit, "--junit").write(junit_xml(report));
                    context.emit(check_document(report, flags->mutate));
                    if (flags->github) Output().write(github_annotations(report));
                    return report.passed() ? 0 : 1;
                  });
  const Options add{command};
  add.texts("files", flags->files, "FILE", "claim files (TOML), or directories of them");
  add.text("--junit", flags->junit, "FILE", "also write JUnit XML there");
  add.text("--samples", flags->samples, "N", "of each expectation by Monte Carlo (default 262144)");
  add.flag("--mutate", flags->mutate, "also change each claim, and ask that it no longer holds");
  add.flag("--github", flags->github, "also print annotations for GitHub's workflows");
}

}  // namespace scalecalc::cli
