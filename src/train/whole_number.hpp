#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace scalecalc::train_room {

/// A whole number of a file that anyone may have written. Json's own get() converts fractions and
/// whatever is out of range; this throws Json's out_of_range.
template <std::integral Number, class Json>
Number whole(const Json& json) {
  const bool fits = json.is_number_unsigned()
                        ? std::in_range<Number>(json.template get_ref<const std::uint64_t&>())
                        : json.is_number_integer() &&
                              std::in_range<Number>(json.template get_ref<const std::int64_t&>());
  if (!fits) throw Json::out_of_range::create(406, "not a whole number in range", &json);
  return json.template get<Number>();
}

}  // namespace scalecalc::train_room
