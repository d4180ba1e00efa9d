#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "scalecalc/report.hpp"

namespace scalecalc::report {
namespace {

nlohmann::ordered_json parsed(const Document& document) {
  return nlohmann::ordered_json::parse(make_printer(Format::json)->print(document));
}

}  // namespace

TEST_CASE("the object has the four keys in order") {
  Document document;
  document.command = "deepnorm";
  const auto json = parsed(document);
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += key + " ";
  CHECK(keys == "scalecalc command inputs results ");
  CHECK(json["scalecalc"] == version());
  CHECK(json["inputs"].is_object());
}

TEST_CASE("doubles come back bit for bit") {
  Document document;
  const std::vector<double> values = {0.1,
                                      1.0 / 3,
                                      5e-324,
                                      std::numeric_limits<double>::max(),
                                      -2.2250738585072014e-308,
                                      44.721359549995796,
                                      1e23,
                                      -0.0};
  for (double value : values) document.results["values"].push_back(value);
  const auto json = parsed(document)["results"]["values"];
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(json[i].get<double>() == values[i]);
    CHECK(std::signbit(json[i].get<double>()) == std::signbit(values[i]));
  }
}

TEST_CASE("what is not finite is null") {
  Document document;
  document.results["nan"] = std::nan("");
  document.results["inf"] = -std::numeric_limits<double>::infinity();
  const auto json = parsed(document)["results"];
  CHECK(json["nan"].is_null());
  CHECK(json["inf"].is_null());
}

TEST_CASE("long numbers are strings, integers stay integers") {
  Document document;
  document.results["digits"] = Value::Digits{"3.14159265358979323846"};
  document.results["largest"] = std::numeric_limits<std::int64_t>::max();
  const auto json = parsed(document)["results"];
  CHECK(json["digits"] == "3.14159265358979323846");
  CHECK(json["largest"].get<std::int64_t>() == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a list prints as the array of its elements") {
  const auto element = [](std::size_t i) {
    Value value;
    value["square"] = static_cast<std::int64_t>(i * i);
    return value;
  };
  Document lazy, eager;
  Value array = Value::array();
  for (std::size_t i = 0; i < 3; ++i) array.push_back(element(i));
  eager.results["some"] = array;
  eager.results["none"] = Value::array();
  lazy.results["some"] = Value::List{3, element};
  lazy.results["none"] = Value::List{0, element};
  const auto printer = make_printer(Format::json);
  CHECK(printer->print(lazy) == printer->print(eager));
}

TEST_CASE("text that is not UTF-8 or has control characters stays valid JSON") {
  Document document;
  document.command = "a\x01\n\"\\";
  document.inputs["bad\xff"] = "\xc3(\xe2\x82 \xf0\x9f";
  const auto json = parsed(document);
  CHECK(json["command"] == "a\x01\n\"\\");
  CHECK(json["inputs"].size() == 1);
}

TEST_CASE("errors as JSON") {
  const Error error(ErrorKind::input, "bad \"value\"", "--layers", "use 12");
  const auto json = nlohmann::json::parse(print_error(Format::json, error));
  CHECK(json["error"]["kind"] == "input");
  CHECK(json["error"]["message"] == "bad \"value\"");
  CHECK(json["error"]["where"] == "--layers");
  CHECK(json["error"]["hint"] == "use 12");
  CHECK(json["error"]["exit_code"] == 2);
  const Error fault(ErrorKind::fault, "disk full");
  CHECK(nlohmann::json::parse(print_error(Format::json, fault))["error"]["exit_code"] == 3);
  CHECK(print_error(Format::table, error).empty());
}

}  // namespace scalecalc::report
