#include <fmt/format.h>

#include <cmath>

#include "scalecalc/error.hpp"
#include "scalecalc/resize.hpp"

namespace scalecalc {
namespace {

void scale_widths(std::vector<LayerSpec>& layers, double ratio, bool last_is_head,
                  const std::string& where) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerSpec& layer = layers[i];
    // A convolution of each channel by itself stays one.
    if (layer.groups > 1 && layer.groups == layer.width)
      layer.groups = scaled_size(layer.groups, ratio, "groups", where);
    if (!(last_is_head && i + 1 == layers.size()))
      layer.width = scaled_size(layer.width, ratio, "width", where);
    layer.head_width = scaled_size(layer.head_width, ratio, "head_width", where);
    scale_widths(layer.layers, ratio, false, where);
    scale_widths(layer.shortcut, ratio, false, where);
  }
}

}  // namespace

std::int64_t scaled_size(std::int64_t size, double ratio, const char* what,
                         const std::string& where) {
  const double value = static_cast<double>(size) * ratio;
  // A ratio of integers has a rounding of 1e-16 alone; less than 1e-9 is none.
  if (std::abs(value - std::round(value)) > 1e-9 * value)
    throw Error(ErrorKind::input,
                fmt::format("the model's {} of {} would become {:.7g}", what, size, value), where,
                "choose sizes that keep it an integer");
  return std::llround(value);
}

void scale_width(ModelSpec& spec, double ratio, const std::string& where) {
  if (spec.kind == ModelSpec::Kind::layers)
    return scale_widths(spec.layer_list, ratio, spec.vocab == 0, where);
  spec.width = scaled_size(spec.width, ratio, "width", where);
  if (spec.kind != ModelSpec::Kind::transformer) return;
  spec.ffn = scaled_size(spec.ffn, ratio, "ffn", where);
  spec.expert_ffn = scaled_size(spec.expert_ffn, ratio, "expert_ffn", where);
  spec.shared_ffn = scaled_size(spec.shared_ffn, ratio, "shared_ffn", where);
  spec.head_width = scaled_size(spec.head_width, ratio, "head_width", where);
  spec.input.embedding_width =
      scaled_size(spec.input.embedding_width, ratio, "embedding_width", where);
}

}  // namespace scalecalc
