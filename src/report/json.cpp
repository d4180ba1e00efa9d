#include <cmath>
#include <nlohmann/json.hpp>

#include "report/printer.hpp"
#include "report/text.hpp"

namespace scalecalc::report {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Value& value) {
  const auto array = [](const Value::Array& elements) {
    Json json = Json::array();
    for (const Value& element : elements) json.push_back(to_json(element));
    return json;
  };
  const auto object = [](const Value::Object& members) {
    Json json = Json::object();
    for (const auto& [name, member] : members) json[name] = to_json(member);
    return json;
  };
  return std::visit(
      Overloaded{[](std::monostate) { return Json(nullptr); },
                 [](bool truth) { return Json(truth); },
                 [](std::int64_t number) { return Json(number); },
                 [](double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); },
                 [](const std::string& text) { return Json(text); },
                 [](const Value::Digits& number) { return Json(number.text); },
                 [](const Value::Formula& formula) { return Json(formula.text); }, array, object},
      value.data());
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::input: return "input";
    case ErrorKind::unsolvable: return "unsolvable";
    case ErrorKind::fault: break;
  }
  return "fault";
}

class JsonPrinter : public Printer {
 public:
  std::string print(const Document& document) const override {
    Json json;
    json["scalecalc"] = version();
    json["command"] = document.command;
    json["inputs"] = to_json(document.inputs);
    json["results"] = to_json(document.results);
    return dump(json);
  }
};

}  // namespace

std::unique_ptr<Printer> make_json_printer() {
  return std::make_unique<JsonPrinter>();
}

std::string print_error(Format format, const Error& error) {
  if (format != Format::json) return {};
  Json json;
  json["scalecalc"] = version();
  json["error"] = {{"kind", kind_name(error.kind())},
                   {"message", error.message()},
                   {"where", error.where()},
                   {"hint", error.hint()},
                   {"exit_code", error.exit_code()}};
  return dump(json);
}

}  // namespace scalecalc::report
