#include <fmt/format.h>

#include <regex>

#include "claims/describe.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc {
namespace {

/// What a workflow command takes for its own signs, as GitHub's toolkit escapes it: a property
/// more than the message.
std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (property && c == ':')
      out += "%3A";
    else if (property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string github_annotations(const ClaimsReport& report) {
  std::string text;
  for (const ClaimsReport::File& file : report.files)
    for (const ClaimResult& claim : file.claims)
      if (!claim.holds)
        text +=
            fmt::format("::error file={},line={},col={},title={}::{}\n", escaped(claim.file, true),
                        claim.line, claim.column, escaped(claim.name, true),
                        escaped(claim.assertion + "\n" + claims::why_not(claim), false));
  return text;
}

std::string github_annotation(const Error& error) {
  static const std::regex place("(.+):([0-9]+):([0-9]+)");
  std::smatch found;
  if (!std::regex_match(error.where(), found, place))
    return fmt::format("::error title=scalecalc::{}\n", escaped(error.what(), false));
  const std::string hint = error.hint().empty() ? "" : "; " + error.hint();
  return fmt::format("::error file={},line={},col={},title=scalecalc::{}\n",
                     escaped(found.str(1), true), found.str(2), found.str(3),
                     escaped(error.message() + hint, false));
}

}  // namespace scalecalc
