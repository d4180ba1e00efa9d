#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::test;

namespace {

/// A report of one claim that does not hold, all of whose texts are hostile.
ClaimsReport hostile() {
  ClaimResult claim;
  claim.name = "a \"<b>\" & 'c' ]]> \x01\x1b[31m \xFF\n::error::x, y: z%";
  claim.assertion = "1 < 2 & \"x\"";
  claim.file = "a,b:c.toml";
  claim.line = 3;
  claim.column = 11;
  MethodResult method;
  method.method = ClaimMethod::quadrature;
  method.verdict = MethodResult::Verdict::fails;
  method.left = "<1>";
  method.right = "2\r\n::warning::";
  claim.methods = {method};
  return {{{"a,b:c.toml", "title <&>", {claim}}}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("hostile names do not leave the attributes of the XML") {
  const std::string xml = junit_xml(hostile());
  CHECK(says(xml, "<testsuites name=\"scalecalc check\" tests=\"1\" failures=\"1\">"));
  CHECK(says(xml, "<testsuite name=\"title &lt;&amp;&gt;\" tests=\"1\""));
  CHECK(
      says(xml, "name=\"a &quot;&lt;b&gt;&quot; &amp; &apos;c&apos; ]]&gt; ??[31m ?&#10;::error"));
  CHECK(says(xml, "left &lt;1&gt;, right 2&#13;&#10;::warning::"));
  // Nothing but the tags that belong there.
  CHECK(count(xml, "<") == 9);
  CHECK(count(xml, ">") == 9);
  for (const char c : xml) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
}

TEST_CASE("hostile names do not start workflow commands of their own") {
  const std::string text = github_annotations(hostile());
  CHECK(count(text, "\n") == 1);
  CHECK(text.starts_with("::error file=a%2Cb%3Ac.toml,line=3,col=11,title=a \"<b>\""));
  CHECK(says(text, "%0A%3A%3Aerror%3A%3Ax%2C y%3A z%25::1 < 2"));
  CHECK(count(text, "\r") == 0);
}

TEST_CASE("an error is an annotation at its place") {
  const Error placed(ErrorKind::input, "no\nnumber", "a,b.toml:4:15", "give one");
  CHECK(github_annotation(placed) ==
        "::error file=a%2Cb.toml,line=4,col=15,title=scalecalc::no%0Anumber; give one\n");
  const Error elsewhere(ErrorKind::input, "no such claim file", "none.toml", "give the path");
  CHECK(github_annotation(elsewhere) ==
        "::error title=scalecalc::no such claim file (none.toml); give the path\n");
}

TEST_CASE("what holds is a test that passed, without an annotation") {
  ClaimsReport report;
  report.files.push_back(
      check_claims_text("title = 'x'\n[[claim]]\nassert = '1 == 1'\n", "x.toml"));
  CHECK(report.passed());
  CHECK(github_annotations(report).empty());
  CHECK(says(junit_xml(report), "tests=\"1\" failures=\"0\""));
  CHECK(says(junit_xml(report), "classname=\"x\" name=\"1 == 1\" file=\"x.toml\" line=\"3\""));
}
