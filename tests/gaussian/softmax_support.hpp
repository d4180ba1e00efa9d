#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "scalecalc/softmax.hpp"

namespace scalecalc::testing {

inline double relative(double value, double reference) {
  return std::abs(value / reference - 1.0);
}
/// What softmax averages state is below these shares of them: P2, which has one integral, and what
/// is a difference or has two.
constexpr double stated_share_p2 = 1e-8, softmax_share = 1e-6;

inline double relative_error(const Estimate& estimate) {
  return estimate.error / estimate.value;
}

/// A row of tables/reference/softmax.csv; an empty correlation is of one row of scores.
struct SoftmaxReference {
  std::int64_t keys;
  double tau2;
  std::string correlation, quantity;
  double value;
};

inline std::vector<SoftmaxReference> softmax_reference() {
  std::ifstream file(std::string(SCALECALC_TABLES_DIR) + "/reference/softmax.csv");
  std::string line;
  std::getline(file, line);
  std::vector<SoftmaxReference> rows;
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
    rows.push_back({std::stoll(fields.at(0)), std::stod(fields.at(1)), fields.at(2), fields.at(3),
                    std::stod(fields.at(4))});
  }
  return rows;
}

}  // namespace scalecalc::testing
