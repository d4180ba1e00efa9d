#include <algorithm>
#include <thread>

#include "cli/app.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

report::Document describe_devices() {
  const auto cores = static_cast<std::int64_t>(std::max(std::thread::hardware_concurrency(), 1U));
  report::Document document;
  document.command = "devices";
  document.rows = Table{
      {"device", "available", "threads", "note"},
      {{"cpu", true, cores, "float and double"}, {"cuda", false, Value(), "not in this build"}}};
  Value devices = Value::array();
  for (const std::vector<Value>& row : document.rows.rows) {
    Value device = Value::object();
    device["name"] = row[0];
    device["available"] = row[1];
    device["threads"] = row[2];
    device["note"] = row[3];
    devices.push_back(device);
  }
  document.results["devices"] = devices;
  document.sections = {{"Devices", document.rows}};
  return document;
}

}  // namespace

void register_devices(CLI::App& app, Context& context) {
  add_command(app, context, "devices", "the devices that passes can run on", [&context] {
    context.emit(describe_devices());
    return 0;
  });
}

}  // namespace scalecalc::cli
