#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scalecalc/network.hpp"

/// The tree of layers and the order of its parameters, of which every walk is made. What a kind
/// consists of is said once, in network/layers/KIND.cpp.
namespace scalecalc {

template <class Op>
struct PointersTo;
template <class... Op>
struct PointersTo<std::variant<Op...>> {
  using type = std::variant<const Op*...>;
};
/// A layer wherever it stands: in a list, or as a member of another layer.
using LayerView = PointersTo<decltype(Layer::op)>::type;

LayerView view_of(const Layer& layer);

/// How a layer holds another: as a Layer or Residual of a list, or as a Linear or Norm of its own.
enum class Held { in_list, as_member };

/// Receives what a layer consists of, in the order of the forward pass.
class PartVisitor {
 public:
  virtual ~PartVisitor() = default;

  virtual void child(const LayerView& layer, Held held) = 0;
  /// `index` counts the parameters that the layer has besides its children's: Linear::bias_index
  /// and its like. `info` has no path; the parameter's is `path` + `suffix`.
  virtual void parameter(const std::string& path, std::size_t index, const char* suffix,
                         const ParameterInfo& info) = 0;
  /// The rows of a table of positions.
  virtual std::int64_t positions() const { return 0; }

  void member(const Linear& layer) { child(&layer, Held::as_member); }
  void member(const Norm& layer) { child(&layer, Held::as_member); }
  void list(const std::vector<Layer>& layers);
  void list(const std::vector<Residual>& layers);
};

/// Of the layer itself, not of what these contain.
void for_each_child(const LayerView& layer,
                    const std::function<void(const LayerView&, Held)>& found);

using FoundParameter = std::function<void(const std::string& path, std::size_t index,
                                          const char* suffix, const ParameterInfo& info)>;
/// Of the layer itself, without its children's. `positions`: tokens of a sequence.
void for_each_own_parameter(const LayerView& layer, std::int64_t positions,
                            const FoundParameter& found);
/// Of these layers and all that they contain, in the order of the forward pass.
void for_each_parameter(const std::vector<Layer>& layers, std::int64_t positions,
                        const FoundParameter& found);

/// How many layers are in lists, nested ones included, and parameters.
double count_entries(const std::vector<Layer>& layers);

/// Calls found(const Linear&), found(const Norm&), ... of this layer, then of all that it contains.
template <class Found>
void for_each_layer(const LayerView& layer, Found& found) {
  std::visit([&](const auto* op) { found(*op); }, layer);
  for_each_child(layer, [&](const LayerView& child, Held) { for_each_layer(child, found); });
}
template <class Found>
void for_each_layer(const std::vector<Layer>& layers, Found&& found) {
  for (const Layer& layer : layers) for_each_layer(view_of(layer), found);
}
/// The same of layers that may be changed, but for their lists: change(Linear&), ...
template <class Change>
void change_each_layer(std::vector<Layer>& layers, Change&& change) {
  for_each_layer(std::as_const(layers), [&]<class Op>(const Op& layer) {
    change(const_cast<Op&>(layer));  // part of the list above, which is not const
  });
}

}  // namespace scalecalc
