#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sample.hpp"

namespace scalecalc::report {
namespace {

std::string golden(const std::string& name) {
  const auto folder =
      std::filesystem::path(SCALECALC_TABLES_DIR).parent_path() / "tests/report/golden";
  std::ifstream file(folder / name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The golden file keeps its version whatever the project's.
std::string sample_json() {
  const std::string golden_text = golden("sample.json");
  const std::string mark = "VERSION";
  const std::size_t at = golden_text.find(mark);
  return golden_text.substr(0, at) + version() + golden_text.substr(at + mark.size());
}

std::string print(Format format) {
  return make_printer(format)->print(sample_document());
}

}  // namespace

TEST_CASE("every format prints the sample as its golden file has it") {
  CHECK(print(Format::table) == golden("sample.txt"));
  CHECK(print(Format::json) == sample_json());
  CHECK(print(Format::csv) == golden("sample.csv"));
  CHECK(print(Format::markdown) == golden("sample.md"));
  CHECK(print(Format::latex) == golden("sample.tex"));
}

TEST_CASE("an empty document prints in every format") {
  for (const std::string& name : format_names()) {
    CHECK_NOTHROW(make_printer(format_from(name))->print(Document()));
  }
  CHECK(make_printer(Format::csv)->print(Document()) == "name,value\n");
  CHECK(make_printer(Format::table)->print(Document()).empty());
}

TEST_CASE("formats by name") {
  CHECK(format_from("md") == Format::markdown);
  CHECK(format_from("markdown") == Format::markdown);
  CHECK(format_from("latex") == Format::latex);
  CHECK_THROWS_WITH_AS(format_from("jsn"), doctest::Contains("json"), Error);
  CHECK_THROWS_AS(format_from(""), Error);
}

TEST_CASE("the version is the project's") {
  CHECK(std::string(version()).find('.') != std::string::npos);
}

}  // namespace scalecalc::report
