#include "moments/series_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "scalecalc/activation.hpp"

namespace scalecalc::moments {
namespace {

std::vector<PairFunction> functions_of(const std::string& name, Moment moment, int count) {
  const Activation activation = Activation::named(name);
  std::vector<PairFunction> made;
  for (int k = 0; k < count; ++k)
    made.emplace_back(activation, moment, 0.0, 0.25 * std::pow(1.5, k));
  return made;
}

TEST_CASE("a table of series is each of its pair functions") {
  for (const std::string name : {"gelu", "tanh", "silu", "sigmoid"}) {
    for (const Moment moment : {Moment::cross, Moment::slope_cross}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(moment));
      const std::vector<PairFunction> functions = functions_of(name, moment, 10);
      const SeriesTable table(functions);
      REQUIRE(table.limit() > 0.5);
      for (const double share : {-1.0, -0.7, -1e-3, 0.0, 1e-9, 0.1, 0.6, 0.99, 1.0}) {
        const double c = share * table.limit();
        CAPTURE(c);
        const SeriesTable::Values values = table(c);
        for (std::size_t k = 0; k < functions.size(); ++k) {
          CAPTURE(k);
          // Terms left out are 1e-18 of it; each step of Horner's rule rounds twice.
          double absolute = 0, power = 1;
          std::size_t terms = 0;
          for (const double term : functions[k].coefficients()) {
            absolute += std::fabs(term) * power;
            power *= std::fabs(c);
            ++terms;
          }
          const double rounding =
              2 * static_cast<double>(terms) * std::numeric_limits<double>::epsilon() * absolute;
          CHECK(std::fabs(values[k] - functions[k](c).value) <= rounding);
        }
        for (std::size_t k = functions.size(); k < SeriesTable::width; ++k) CHECK(values[k] == 0);
      }
    }
  }
}

TEST_CASE("a table holds where the narrowest of its series does") {
  const std::vector<PairFunction> functions = functions_of("gelu", Moment::cross, 12);
  double least = 1;
  for (const PairFunction& function : functions) least = std::min(least, function.series_limit());
  CHECK(SeriesTable(functions).limit() == least);
  CHECK(least < functions.front().series_limit());
}

}  // namespace
}  // namespace scalecalc::moments
