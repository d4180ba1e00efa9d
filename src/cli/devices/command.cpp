#include "cli/app.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

/// Nothing where it is not known.
Value text_or_nothing(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}
Value bytes_or_nothing(std::size_t bytes) {
  return bytes == 0 ? Value() : Value(static_cast<std::int64_t>(bytes));
}
std::string in_gibibytes(std::size_t bytes) {
  const std::size_t tenths = bytes / (std::size_t{1} << 30) * 10 +
                             bytes % (std::size_t{1} << 30) * 10 / (std::size_t{1} << 30);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Value describe(const DeviceInfo& info) {
  Value device = Value::object();
  device["name"] = info.name;
  device["kind"] = info.name == "cpu" ? "cpu" : "cuda";
  device["available"] = info.available();
  device["model"] = text_or_nothing(info.model);
  device["threads"] = info.threads > 0 ? Value(std::int64_t{info.threads}) : Value();
  device["memory"] = bytes_or_nothing(info.memory_total);
  device["memory_free"] = bytes_or_nothing(info.memory_free);
  device["capability"] = text_or_nothing(info.capability);
  device["products"] = text_or_nothing(info.products);
  device["driver"] = text_or_nothing(info.driver);
  device["runtime"] = text_or_nothing(info.runtime);
  device["why_none"] = text_or_nothing(info.why_none);
  return device;
}

std::string note_of(const DeviceInfo& info) {
  if (info.products.empty()) return info.model;
  return info.model + (info.model.empty() ? "" : "; ") + info.products;
}

std::vector<Value> row_of(const DeviceInfo& info) {
  Value memory;
  if (info.memory_total > 0) {
    memory = in_gibibytes(info.memory_free) + " of " + in_gibibytes(info.memory_total);
  }
  return {info.name, info.available(), std::move(memory), text_or_nothing(info.capability),
          info.available() ? text_or_nothing(note_of(info)) : Value(info.why_none)};
}

report::Document describe_devices() {
  report::Document document;
  document.command = "devices";
  document.rows = Table{{"device", "available", "memory free", "capability", "note"}, {}};
  Value devices = Value::array();
  for (const DeviceInfo& info : scalecalc::devices()) {
    document.rows.rows.push_back(row_of(info));
    devices.push_back(describe(info));
  }
  document.results["devices"] = devices;
  document.sections = {{"Devices", document.rows}};
  return document;
}

}  // namespace

void register_devices(CLI::App& app, Context& context) {
  add_command(app, context,
              {.name = "devices",
               .summary = "the devices that passes can run on",
               .examples = {"scalecalc devices", "scalecalc devices --format json"},
               .form = devices_form},
              [&context] {
                context.emit(describe_devices());
                return 0;
              });
}

}  // namespace scalecalc::cli
