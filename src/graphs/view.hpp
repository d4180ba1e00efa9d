#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graphs/program.hpp"

/// How the entries of a tensor lie: which of its dimensions count samples, tokens and features.
namespace scalecalc::graphs {

/// A count of samples, tokens or features, in steps of `stride` of them. `copy` counts equal copies
/// (keys that several heads share).
struct Axis {
  enum class Of { batch, token, feature, copy };
  Of of = Of::batch;
  std::int64_t size = 1, stride = 1;
  bool operator==(const Axis&) const = default;
};

/// Each dimension of a tensor as a product of axes, the outermost first; axes of one are left out.
struct View {
  std::vector<std::vector<Axis>> dims;
  std::int64_t feature = 0, token = 0;  ///< the first feature and token
  bool operator==(const View&) const = default;
};

Sizes sizes_of(const View& view);
std::int64_t count(const std::vector<Axis>& axes);
/// All axes of a kind, in the order of the dimensions.
std::vector<Axis> axes_of(const View& view, Axis::Of of);

/// Other sizes of the same entries in the same order. None: an axis would be cut where it cannot
/// be.
std::optional<View> reshaped(const View& view, const Sizes& sizes);
/// Dimension i is dimension order[i].
View permuted(const View& view, const std::vector<std::size_t>& order);
/// Dimensions of one become copies; new ones come in front.
std::optional<View> expanded(const View& view, const Sizes& sizes);
/// Entries start, start + step, ... of a dimension. None: they are no steps of one axis, or not all
/// samples of a batch.
std::optional<View> sliced(const View& view, std::size_t dim, std::int64_t start, std::int64_t size,
                           std::int64_t step = 1);
/// Without a dimension of one.
View without(const View& view, std::size_t dim);

}  // namespace scalecalc::graphs
