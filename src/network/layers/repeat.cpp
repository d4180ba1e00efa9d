#include <fmt/format.h>

#include <cmath>

#include "network/layer_spec.hpp"
#include "network/layers/kinds.hpp"
#include "network/validate.hpp"

/// A type of [[layer]] that stands for copies of what it contains; no layer of a network is one.
namespace scalecalc {
namespace repeat_layer {

constexpr double max_times = 1e6;

std::vector<LayerKey> keys() {
  return {layer_formula("times", &LayerSpec::times, {"N"}), list_key("layers")};
}

void check(const LayerSpec& spec, const std::string& path, const ModelSpec&) {
  check_has_layers(spec, path);
}

void lay_out(ListLayout& layout, const Place& place, Shape& shape, std::vector<Layer>& out) {
  const double times = formula_value(place.spec.times, layout.parts().values(), "times");
  if (!(times >= 0 && times <= max_times && times == std::floor(times)))
    throw layer_error(
        place.spec, place.path,
        fmt::format("times must be an integer from 0 to {:.0f}, got {}", max_times, times),
        "for example times = 12");
  layout.repeat(place, static_cast<std::int64_t>(times), shape, out);
}

}  // namespace repeat_layer

constinit const LayerKind repeat_kind = {.name = "repeat",
                                         .keys = repeat_layer::keys,
                                         .check = repeat_layer::check,
                                         .lay_out = repeat_layer::lay_out};

}  // namespace scalecalc
