#include "names/tables.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {

const std::vector<std::string>& naming_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Naming& naming : names::naming_tables()) all.push_back(naming.name);
    return all;
  }();
  return names;
}

Naming find_naming(std::string_view name, const std::string& where) {
  for (const Naming& naming : names::naming_tables())
    if (naming.name == name) return naming;
  throw unknown_name("naming", name, naming_names(), where);
}

}  // namespace scalecalc
