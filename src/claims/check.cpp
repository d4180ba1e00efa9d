#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "claims/claim.hpp"
#include "claims/mutate.hpp"
#include "claims/networks.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc {
namespace {

namespace fs = std::filesystem;

void check_options(const CheckOptions& options) {
  if (options.samples < 4096 || options.samples > (std::int64_t{1} << 32))
    throw Error(ErrorKind::input, "samples must be from 4096 to 4294967296",
                "got " + std::to_string(options.samples), "for example 262144");
}

}  // namespace

std::string verdict_of(const ClaimResult& claim) {
  if (claim.methods.empty()) return "undecided";
  if (!claim.holds) return "does not hold";
  int points = 0;
  for (const MethodResult& method : claim.methods) {
    if (method.proved) return claim.expected_to_fail ? "refuted" : "proved";
    points = std::max(points, method.points);
  }
  if (points == 0) return "checked";
  return "checked at " + std::to_string(points) + (points == 1 ? " point" : " points");
}

std::size_t ClaimsReport::count() const {
  std::size_t count = 0;
  for (const File& file : files) count += file.claims.size();
  return count;
}

std::size_t ClaimsReport::failures() const {
  std::size_t count = 0;
  for (const File& file : files)
    for (const ClaimResult& claim : file.claims) count += claim.holds ? 0 : 1;
  return count;
}

std::size_t ClaimResult::survivors() const {
  return static_cast<std::size_t>(
      std::count_if(mutants.begin(), mutants.end(), [](const auto& m) { return m.survived; }));
}

std::size_t ClaimsReport::surviving() const {
  std::size_t count = 0;
  for (const File& file : files)
    for (const ClaimResult& claim : file.claims) count += claim.survivors() > 0 ? 1 : 0;
  return count;
}

std::size_t ClaimsReport::unexplained() const {
  std::size_t count = 0;
  for (const File& file : files)
    for (const ClaimResult& claim : file.claims) {
      const bool bare = std::any_of(claim.mutants.begin(), claim.mutants.end(),
                                    [](const auto& m) { return m.survived && m.reason.empty(); });
      count += bare || !claim.unfounded.empty() ? 1 : 0;
    }
  return count;
}

std::vector<std::string> claim_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code code;
    if (path.find('\0') != std::string::npos || !fs::is_directory(path, code)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator entry(path, code), end; !code && entry != end;
         entry.increment(code))
      if (entry->is_regular_file(code) && entry->path().extension() == ".toml")
        found.push_back(entry->path().string());
    if (found.empty())
      throw Error(ErrorKind::input, "a directory without claim files", base::shortened(path),
                  "claim files end in .toml");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

ClaimsReport::File claims::check_file(const ClaimFile& read, const std::string& name,
                                      Networks networks, const CheckOptions& options) {
  check_options(options);
  ClaimsReport::File file{base::printable(name), read.title, {}};
  for (std::size_t k = 0; k < read.claims.size(); ++k) {
    const double done = static_cast<double>(k) / static_cast<double>(read.claims.size());
    if (options.progress && !options.progress(done, base::shortened(read.claims[k].name)))
      throw Error(ErrorKind::fault, "stopped", base::shortened(name), "nothing was written");
    ClaimResult result = decide(read.claims[k], options, networks);
    result.file = file.path;
    if (options.mutate && result.holds) {
      result.mutants = check_mutants(read.claims[k], options, networks);
      result.unfounded = unfounded_reasons(read.claims[k], result.mutants);
    }
    file.claims.push_back(std::move(result));
  }
  return file;
}

ClaimsReport::File check_claims_text(std::string_view toml, const std::string& name,
                                     const CheckOptions& options) {
  check_options(options);
  return claims::check_file(claims::read_claims(toml, name), name,
                            claims::Networks(fs::path(name).parent_path().string()), options);
}

ClaimsReport::File check_claims(const std::string& path, const CheckOptions& options) {
  return check_claims_text(base::read_text_file(path, "claim file"), path, options);
}

}  // namespace scalecalc
