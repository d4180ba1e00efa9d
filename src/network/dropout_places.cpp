#include <array>
#include <utility>

#include "scalecalc/network.hpp"

namespace scalecalc {
namespace {

constexpr std::array<std::pair<const char*, bool DropoutPlaces::*>, 4> places = {
    {{"input", &DropoutPlaces::input},
     {"branch", &DropoutPlaces::branch},
     {"activation", &DropoutPlaces::activation},
     {"stream", &DropoutPlaces::stream}}};

bool DropoutPlaces::*place_from(std::string_view wanted, const std::string& where) {
  std::vector<std::string> names;
  for (const auto& [name, member] : places) {
    if (wanted == name) return member;
    names.emplace_back(name);
  }
  throw unknown_name("place of dropout", wanted, names, where);
}

}  // namespace

std::string to_string(const DropoutPlaces& given) {
  std::string text;
  for (const auto& [name, member] : places)
    if (given.*member) text += (text.empty() ? "" : "+") + std::string(name);
  return text;
}

DropoutPlaces dropout_places_from(std::string_view names, const std::string& where) {
  DropoutPlaces given{.branch = false};
  for (std::size_t start = 0;;) {
    const std::size_t end = names.find('+', start);
    const std::string name(names.substr(start, end - start));
    bool& here = given.*place_from(name, where);
    if (here)
      throw Error(ErrorKind::input, "place of dropout '" + name + "' is given twice", where,
                  "name each place once, as in input+branch");
    here = true;
    if (end == std::string_view::npos) return given;
    start = end + 1;
  }
}

}  // namespace scalecalc
