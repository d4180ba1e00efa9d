#include <utility>

#include "scalecalc/verify.hpp"

namespace scalecalc {
namespace {

const std::vector<std::pair<std::string, Quantity>>& quantities() {
  static const std::vector<std::pair<std::string, Quantity>> all = {
      {"delta_loss", Quantity::delta_loss},
      {"actual_delta_loss", Quantity::actual_delta_loss},
      {"grad_norm", Quantity::grad_norm},
      {"update_ratio", Quantity::update_ratio},
      {"probe", Quantity::probe}};
  return all;
}

}  // namespace

const std::vector<std::string>& quantity_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, quantity] : quantities()) list.push_back(name);
    return list;
  }();
  return names;
}

std::string to_string(Quantity wanted) {
  for (const auto& [name, quantity] : quantities())
    if (quantity == wanted) return name;
  return {};
}

Quantity quantity_from(std::string_view wanted, const std::string& where) {
  for (const auto& [name, quantity] : quantities())
    if (name == wanted) return quantity;
  throw unknown_name("quantity", wanted, quantity_names(), where);
}

std::string to_string(SweepEngine engine) {
  return engine == SweepEngine::passes ? "passes" : "quadrature";
}

}  // namespace scalecalc
