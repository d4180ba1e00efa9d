#include "cli/init/library_document.hpp"

#include <map>
#include <tuple>

#include "base/text.hpp"

namespace scalecalc::cli {
namespace {

using report::Value;

std::string shape_text(const LibraryTensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

report::Table tensor_rows(const LibraryModel& model) {
  report::Table table{{"name", "shape", "distribution", "mean", "std", "formula", "tied"}, {}};
  for (const LibraryTensor& tensor : model.tensors)
    table.rows.push_back({tensor.name, shape_text(tensor), tensor.distribution, tensor.mean,
                          tensor.std, tensor.rule,
                          tensor.tied.empty() ? Value() : Value(joined(tensor.tied))});
  return table;
}

/// What a person reads: tensors that start alike as one row.
report::Table grouped(const LibraryModel& model) {
  report::Table table{{"tensors", "of", "shape", "mean", "std", "rule"}, {}};
  std::map<std::tuple<std::string, std::string, std::string, double>, std::size_t> rows;
  for (const LibraryTensor& tensor : model.tensors) {
    const auto key = std::make_tuple(name_pattern(tensor.name, "*"), shape_text(tensor),
                                     tensor.rule, tensor.std);
    const auto [found, is_new] = rows.emplace(key, table.rows.size());
    if (is_new)
      table.rows.push_back({std::get<0>(key), std::int64_t{0}, std::get<1>(key), tensor.mean,
                            tensor.std, tensor.rule});
    Value& count = table.rows[found->second][1];
    count = std::get<std::int64_t>(count.data()) + 1;
  }
  return table;
}

}  // namespace

report::Document library_document(const LibraryModel& model, report::Format format) {
  report::Document document;
  document.command = "init";
  document.inputs["model"] = model.source;
  document.inputs["architecture"] = model.architecture;
  document.inputs["class"] = model.class_name;
  document.inputs["library"] = model.library;
  if (format == report::Format::json || format == report::Format::csv)
    document.rows = tensor_rows(model);
  document.results["parameters"] = report::records(document.rows);
  std::string note;
  for (const std::string& taken : model.taken) note += (note.empty() ? "" : ", ") + taken;
  if (!note.empty()) note = "Taken, for the tensors do not tell: " + note + ". ";
  document.sections = {
      {base::shortened(model.source) + ": how " + model.library + " starts " + model.class_name,
       grouped(model)},
      {"", report::Paragraph{
               note + "--format json and csv list every tensor, --target pytorch writes a module "
                      "that fills them, --weights FILE draws them. With an option of the model, "
                      "or --names, the model that scalecalc import writes is taken in its "
                      "place."}}};
  return document;
}

}  // namespace scalecalc::cli
