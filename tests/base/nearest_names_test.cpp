#include <doctest/doctest.h>

#include "scalecalc/error.hpp"

using namespace scalecalc;

TEST_CASE("near names come nearest first") {
  const std::vector<std::string> known{"sgd", "adam", "adamw", "lamb", "rmsprop"};
  CHECK(nearest_names("adm", known).front() == "adam");
  CHECK(nearest_names("adma", known).front() == "adam");
  CHECK(nearest_names("ADAM", known).front() == "adam");
  CHECK(nearest_names("lab", known).front() == "lamb");
  CHECK(nearest_names("rms", known).front() == "rmsprop");
  CHECK(nearest_names("rmspropp", known).front() == "rmsprop");
  CHECK(nearest_names("zzzzzz", known).empty());
  CHECK(nearest_names("", known).empty());
  CHECK(nearest_names("x", known).empty());
  CHECK(nearest_names(std::string(1000000, 'a'), known).empty());
}

TEST_CASE("an unknown name says what is known") {
  const Error error = unknown_name("optimizer", "adm", {"sgd", "adam"}, "--optimizer");
  CHECK(std::string(error.what()) ==
        "unknown optimizer 'adm' (--optimizer); did you mean 'adam'? known: sgd, adam");
  CHECK(error.exit_code() == 2);
  CHECK(std::string(unknown_name("family", "qqqqq", {"sgd", "adam"}, "").what()) ==
        "unknown family 'qqqqq'; known: sgd, adam");
  CHECK(unknown_name("a", "b", {}, "", ErrorKind::usage).kind() == ErrorKind::usage);
}

TEST_CASE("a long or strange name is cut and stays on its line") {
  const std::string line = unknown_name("name", std::string(500, 'a') + "\n", {"b"}, "").what();
  CHECK(line.find(std::string(80, 'a') + "...'") != std::string::npos);
  CHECK(line.find(std::string(81, 'a')) == std::string::npos);
  const std::string control = unknown_name("name", "a\nb", {"b"}, "").what();
  CHECK(control.find('\n') == std::string::npos);
  // Names that are known may be a file's own.
  CHECK(std::string(unknown_name("name", "abc", {"abc\td", std::string(90, 'd')}, "").what()) ==
        "unknown name 'abc'; did you mean 'abc?d'? known: abc?d, " + std::string(80, 'd') + "...");
}
