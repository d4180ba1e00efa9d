#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#include "activation/families.hpp"

namespace scalecalc {
namespace activation_room {

namespace {

Rows all_rows() {
  Rows rows;
  add_rectified(rows);
  add_exponential(rows);
  add_gated(rows);
  add_sigmoidal(rows);
  add_hard(rows);
  add_shrink(rows);
  add_smooth(rows);
  return rows;
}

ActivationInfo parsed(const Row& row) {
  ParseOptions options;
  options.assumptions = {{"x", Assumption::real}};
  options.known_symbols = {"x"};
  for (const ActivationParameter& parameter : row.parameters) {
    options.assumptions[parameter.name] = Assumption::real;
    options.known_symbols.push_back(parameter.name);
  }
  options.where = row.name;
  return {row.name, row.aliases, parse(row.formula, options), row.parameters, row.source};
}

/// A row whose formula is parsed when it is first asked for: most commands ask for one.
class Registered {
 public:
  explicit Registered(Row row) : row_(std::move(row)) {}
  bool is_called(std::string_view name) const {
    return row_.name == name ||
           std::find(row_.aliases.begin(), row_.aliases.end(), name) != row_.aliases.end();
  }
  const Row& row() const { return row_; }
  const ActivationInfo& info() const {
    std::call_once(once_, [&] { info_ = parsed(row_); });
    return info_;
  }

 private:
  Row row_;
  mutable std::once_flag once_;
  mutable ActivationInfo info_;
};

const std::deque<Registered>& registry() {
  static const std::deque<Registered> all = [] {
    std::deque<Registered> made;
    for (Row& row : all_rows()) made.emplace_back(std::move(row));
    return made;
  }();
  return all;
}

}  // namespace
}  // namespace activation_room

const std::vector<ActivationInfo>& activations() {
  static const std::vector<ActivationInfo> all = [] {
    std::vector<ActivationInfo> made;
    for (const activation_room::Registered& each : activation_room::registry())
      made.push_back(each.info());
    return made;
  }();
  return all;
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const activation_room::Registered& each : activation_room::registry()) {
    const activation_room::Row& row = each.row();
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  return names;
}

const ActivationInfo& activation(std::string_view name, const std::string& where) {
  for (const activation_room::Registered& each : activation_room::registry())
    if (each.is_called(name)) return each.info();
  throw unknown_name("activation", name, activation_names(), where);
}

}  // namespace scalecalc
