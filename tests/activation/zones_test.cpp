#include "activation/zones.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "activation/compiled.hpp"
#include "activation/impl.hpp"

namespace scalecalc {
namespace {

using activation_room::Zone;

/// Whether inputs that occur are evaluated with more bits than a double has, which is slow.
bool is_slow(const Zone& zone) {
  return zone.by_bits && zone.low < 64 && zone.high > -64;
}

}  // namespace

TEST_CASE("zones: a sum of fractions that cancels everywhere is fitted where inputs are") {
  // 2 to 10 of the 16 digits of its terms cancel, whatever x is.
  const Activation activation = Activation::from_expression(
      "x*(5000 + 3*x)/((x - 1)^2 + 7) - x*(5000 + 3*x)/((x - 1)^2 + 7.001)"
      " - x*(20 - x)/((x + 2)^2 + 9) + x*(20 - x)/((x + 2)^2 + 9.0001)");
  const auto& pieces = activation.impl().compiled().pieces();
  REQUIRE(pieces.size() == 1);
  const auto& zones = pieces[0].value_zones;
  CHECK(!zones.empty());  // there is something to fit
  CHECK(std::none_of(zones.begin(), zones.end(), is_slow));
  const auto& slopes = pieces[0].slope_zones;
  CHECK(std::none_of(slopes.begin(), slopes.end(), is_slow));
}

}  // namespace scalecalc
