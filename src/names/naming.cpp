#include "names/tables.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {

const std::vector<std::string>& naming_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const names::NamingTable& table : names::naming_tables()) all.emplace_back(table.name);
    return all;
  }();
  return names;
}

Naming find_naming(std::string_view name, const std::string& where) {
  for (const names::NamingTable& table : names::naming_tables())
    if (table.name == name) return table.make(table.name);
  throw unknown_name("naming", name, naming_names(), where);
}

}  // namespace scalecalc
