#include <fmt/format.h>

#include "base/text.hpp"
#include "claims/describe.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc {
namespace claims {

std::string why_not(const ClaimResult& claim) {
  using Verdict = MethodResult::Verdict;
  const Verdict wanted = claim.expected_to_fail ? Verdict::fails : Verdict::holds;
  std::string text;
  for (const MethodResult& method : claim.methods) {
    if (method.verdict == Verdict::open || method.verdict == wanted) continue;
    if (!text.empty()) text += "; ";
    text += to_string(method.method) + ": ";
    text += claim.expected_to_fail ? "it holds, which the claim denies: " : "";
    text += fmt::format("left {}, right {}", method.left, method.right);
    if (!method.difference_formula.empty())
      text += ", left - right = " + method.difference_formula;
    else if (method.difference)
      text += fmt::format(", left - right = {:.6g}", *method.difference);
    if (!method.point.empty()) text += " at " + method.point;
    if (method.points > 0 && !method.difference_formula.empty() && method.left_value &&
        method.right_value)
      text += fmt::format(", where left is {:.12g} and right {:.12g}", *method.left_value,
                          *method.right_value);
  }
  return text;
}

namespace {

/// Text of XML 1.0: what stands for markup is escaped, what XML has no way to write becomes '?'.
std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const base::Character next = base::character_at(text, at);
    const std::string_view character = std::string_view(text).substr(at, next.bytes);
    at += next.bytes;
    const auto code = static_cast<unsigned char>(character[0]);
    const bool outside = character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
    if (!next.valid || outside || code == 0x7F ||
        (code < 0x20 && code != '\t' && code != '\n' && code != '\r')) {
      out += '?';
    } else if (character == "<") {
      out += "&lt;";
    } else if (character == ">") {
      out += "&gt;";
    } else if (character == "&") {
      out += "&amp;";
    } else if (character == "\"") {
      out += "&quot;";
    } else if (character == "'") {
      out += "&apos;";
    } else if (code < 0x20) {
      out += fmt::format("&#{};", static_cast<int>(code));
    } else {
      out += character;
    }
  }
  return out;
}

std::string test_case(const ClaimResult& claim, const std::string& title) {
  std::string text = fmt::format(
      "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{}\" time=\"{:.3f}\"",
      escaped(title), escaped(claim.name), escaped(claim.file), claim.line, claim.seconds);
  if (claim.holds)
    return text + fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n",
                              escaped(verdict_of(claim)));
  const std::string why = why_not(claim);
  return text + fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                            escaped(why), escaped(claim.assertion + "\n" + why));
}

}  // namespace
}  // namespace claims

std::string junit_xml(const ClaimsReport& report) {
  using claims::escaped;
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"scalecalc check\" tests=\"{}\" failures=\"{}\">\n",
                      report.count(), report.failures());
  for (const ClaimsReport::File& file : report.files) {
    const ClaimsReport alone{{file}};
    double seconds = 0;
    for (const ClaimResult& claim : file.claims) seconds += claim.seconds;
    const std::string title = file.title.empty() ? file.path : file.title;
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\">\n",
        escaped(title), alone.count(), alone.failures(), seconds);
    for (const ClaimResult& claim : file.claims) text += claims::test_case(claim, title);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace scalecalc
