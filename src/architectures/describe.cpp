#include "architectures/describe.hpp"

#include <nlohmann/json.hpp>

#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

/// A model file of the family's fields; None leaves a field out.
std::string model_file(const Family& family, const Lookup& config) {
  std::string text, open;
  for (const auto& [full_name, expression] : family.model) {
    const std::size_t dot = full_name.find('.');
    const std::string section = full_name.substr(0, dot), key = full_name.substr(dot + 1);
    const Value value = expression.evaluate(config);
    if (value.is_null()) continue;
    if (section != open) text += "[" + section + "]\n";
    open = section;
    text += key + " = " + value.dump() + "\n";
  }
  return text;
}

}  // namespace

void describe(const Family& family, const Lookup& config, LibraryModel& model) {
  for (const Conditional& remark : family.remarks)
    if (remark.condition.flag(config)) model.remarks.push_back(remark.text);
  if (family.model.empty()) {
    model.why_no_spec = family.why_no_model;
    return;
  }
  try {
    model.spec = parse_model(model_file(family, config), model.source + " as a model file");
  } catch (const Error& error) {
    model.why_no_spec = error.what();
  }
}

}  // namespace scalecalc::architectures
