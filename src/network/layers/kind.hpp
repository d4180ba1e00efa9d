#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "network/layer_list.hpp"
#include "network/values.hpp"

namespace scalecalc {

using LayerKey = Key<LayerSpec>;

/// A type of [[layer]]: how a model file writes it, and what becomes of it.
struct LayerKind {
  const char* name;
  /// In the order in which they are listed and written, without type and name. Null: no others.
  std::vector<LayerKey> (*keys)() = nullptr;
  /// Throws Error(input) for what is wrong whatever stands before it. Null: nothing can be.
  void (*check)(const LayerSpec& spec, const std::string& path, const ModelSpec& model) = nullptr;
  /// Emits the layer; `shape` becomes what leaves. Throws Error(input) for a shape that does not
  /// fit.
  void (*lay_out)(ListLayout& layout, const Place& place, Shape& shape,
                  std::vector<Layer>& out) = nullptr;
  /// Last parts of the paths of its sites and parameters, which no layer may be called.
  std::array<std::string_view, 6> parts = {};
};

/// The key of one member.
template <class Value>
LayerKey layer_key(const char* name, Value LayerSpec::*member) {
  return key<LayerSpec>(
      name, 0, [member](auto& spec) -> auto& { return spec.*member; });
}
/// A formula in these symbols.
template <class Value>
LayerKey layer_formula(const char* name, Value LayerSpec::*member,
                       std::vector<std::string> symbols) {
  return formula_key<LayerSpec>(
      name, 0, [member](auto& spec) -> auto& { return spec.*member; }, std::move(symbols));
}
/// A list of layers inside a layer. Reading needs the nesting, so it is done in read_layer().
LayerKey list_key(const char* name);

/// bias, gain, std, bias_std, distribution.
std::vector<LayerKey> weight_keys();
/// norm, eps, alpha, affine.
std::vector<LayerKey> norm_keys();
std::vector<LayerKey> joined(std::initializer_list<std::vector<LayerKey>> lists);

/// Throws where a dropout rate is no rate.
void check_rate(const LayerSpec& spec, const std::string& path);
/// Throws where a layer that contains others has none.
void check_has_layers(const LayerSpec& spec, const std::string& path);
/// Throws where what a layer reads is no image.
void check_image(const LayerSpec& spec, const std::string& path, const Shape& shape);
/// Throws where its kernel is larger than the padded image.
void check_kernel(const LayerSpec& spec, const std::string& path, const Shape& shape,
                  const std::string& hint);

/// Throws where an image that leaves has too many pixels.
void check_pixels(const LayerSpec& spec, const std::string& path, const Shape& shape,
                  const std::string& hint);

}  // namespace scalecalc
