#include "cli/model_options.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>

#include "model_field_cases.hpp"
#include "scalecalc/error.hpp"

using namespace scalecalc;
using scalecalc::test::FieldCase;

namespace {

/// The options of a command that takes a model, with one of them given.
ModelSpec with_option(ModelSpec spec, const std::string& argument) {
  CLI::App app;
  cli::ModelOptions options;
  options.add_command_options(&app);
  options.add_to(&app);
  app.parse({argument});
  CHECK(options.given().starts_with(argument.substr(0, argument.find('='))));
  options.apply_to(spec);
  return spec;
}

std::vector<FieldCase> cases_with_options() {
  std::vector<FieldCase> cases = test::field_cases();
  std::erase_if(cases, [](const FieldCase& tried) {
    return tried.field->option == ModelField::Option::none;
  });
  return cases;
}

}  // namespace

TEST_CASE("every field that has an option is set by it") {
  for (const FieldCase& tried : cases_with_options()) {
    const std::string option = tried.field->option_name();
    CAPTURE(option);
    const ModelSpec spec = with_option(tried.base, option + "=" + test::plain_text(tried.value));
    CHECK(test::plain_text(tried.field->get(spec)) == test::plain_text(tried.value));
    if (tried.field->type != ModelField::Type::flag) continue;
    CHECK(test::plain_text(tried.field->get(with_option(tried.base, option))) == "true");
    CHECK(test::plain_text(tried.field->get(with_option(tried.base, option + "=false"))) ==
          "false");
  }
}

TEST_CASE("a wrong value of an option is one line that names it") {
  for (const FieldCase& tried : cases_with_options()) {
    const ModelField& field = *tried.field;
    const std::string option = field.option_name();
    if (field.name == "optimizer") continue;  // a rule in g and theta, read by who uses it
    const bool is_name = field.type == ModelField::Type::name;
    const std::string wrong = is_name ? test::plain_text(tried.value) + "x" : "some+thing";
    CAPTURE(option);
    try {
      with_option(tried.base, option + "=" + wrong);
      FAIL("accepted");
    } catch (const Error& error) {
      const std::string line = error.what();
      CAPTURE(line);
      CHECK(error.exit_code() == 2);
      CHECK(line.find(option) != std::string::npos);
      CHECK(line.find('\n') == std::string::npos);
      if (scalecalc::test::is_of_numbers(field))
        CHECK(line.find("must be positive numbers") != std::string::npos);
      else if (is_name && field.name != "dropout_place")
        CHECK(line.find("did you mean '" + test::plain_text(tried.value) + "'") !=
              std::string::npos);
    }
  }
}

TEST_CASE("an option of another kind of model is refused") {
  const ModelSpec mlp = default_spec(ModelSpec::Kind::mlp);
  CHECK_THROWS_WITH(with_option(mlp, "--qk-norm"),
                    "an mlp has no qk_norm (--qk-norm); leave it out, or use a model of kind "
                    "\"transformer\"");
  CHECK_THROWS_WITH(with_option(ModelSpec{}, "--classes=3"),
                    "a transformer has no classes (--classes); leave it out, or use a model of "
                    "kind \"mlp\" or \"layers\"");
  CHECK(with_option(mlp, "--vocab=3").vocab == 3);
}

TEST_CASE("the ratio of ffn to width is kept") {
  CHECK(with_option(ModelSpec{}, "--width=32").ffn == 128);
  CHECK(with_option(ModelSpec{}, "--ffn=32").ffn == 32);
}
