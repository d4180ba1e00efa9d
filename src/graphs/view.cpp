#include "graphs/view.hpp"

#include <algorithm>

namespace scalecalc::graphs {
namespace {

/// Axes that go on where the one inside them ends become one.
std::vector<Axis> merged(const std::vector<Axis>& axes) {
  std::vector<Axis> out;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    const bool goes_on =
        !out.empty() && out.back().of == axis.of &&
        (axis.of == Axis::Of::copy || out.back().stride == axis.size * axis.stride);
    if (goes_on)
      out.back() = {axis.of, out.back().size * axis.size, axis.stride};
    else
      out.push_back(axis);
  }
  return out;
}

}  // namespace

std::int64_t count(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.size;
  return product;
}

Sizes sizes_of(const View& view) {
  Sizes sizes;
  for (const auto& axes : view.dims) sizes.push_back(count(axes));
  return sizes;
}

std::vector<Axis> axes_of(const View& view, Axis::Of of) {
  std::vector<Axis> found;
  for (const auto& axes : view.dims)
    for (const Axis& axis : axes)
      if (axis.of == of) found.push_back(axis);
  return found;
}

std::optional<View> reshaped(const View& view, const Sizes& sizes) {
  std::vector<Axis> rest;  // the next one last
  for (const auto& axes : view.dims) rest.insert(rest.end(), axes.begin(), axes.end());
  std::reverse(rest.begin(), rest.end());
  View out{{}, view.feature, view.token};
  for (const std::int64_t size : sizes) {
    std::vector<Axis> axes;
    std::int64_t left = size;
    while (left > 1) {
      if (rest.empty()) return std::nullopt;
      Axis& next = rest.back();
      if (left % next.size == 0) {
        left /= next.size;
        axes.push_back(next);
        rest.pop_back();
      } else if (next.size % left == 0) {
        const std::int64_t inner = next.size / left;
        axes.push_back({next.of, left, next.stride * inner});
        next.size = inner;
        left = 1;
      } else {
        return std::nullopt;
      }
    }
    out.dims.push_back(merged(axes));
  }
  if (!rest.empty()) return std::nullopt;
  return out;
}

View permuted(const View& view, const std::vector<std::size_t>& order) {
  View out{{}, view.feature, view.token};
  for (const std::size_t dim : order) out.dims.push_back(view.dims[dim]);
  return out;
}

std::optional<View> expanded(const View& view, const Sizes& sizes) {
  if (sizes.size() < view.dims.size()) return std::nullopt;
  View out = view;
  out.dims.insert(out.dims.begin(), sizes.size() - view.dims.size(), {});
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = count(out.dims[i]);
    if (size == sizes[i] || sizes[i] == -1) continue;
    if (size != 1 || sizes[i] < 1) return std::nullopt;
    out.dims[i] = {{Axis::Of::copy, sizes[i], 0}};
  }
  return out;
}

std::optional<View> sliced(const View& view, std::size_t dim, std::int64_t start, std::int64_t size,
                           std::int64_t step) {
  View out = view;
  std::vector<Axis>& axes = out.dims[dim];
  const std::int64_t all = count(axes);
  if (start < 0 || size < 1 || step < 1 || start >= all || size > (all - start + step - 1) / step)
    return std::nullopt;
  if (start == 0 && size == all) return out;
  if (axes.size() != 1) return std::nullopt;
  Axis& axis = axes.front();
  if (axis.of == Axis::Of::batch) return std::nullopt;
  if (axis.of == Axis::Of::feature) out.feature += start * axis.stride;
  if (axis.of == Axis::Of::token) out.token += start * axis.stride;
  axis.size = size;
  axis.stride *= step;
  if (size == 1) axes.clear();
  return out;
}

View without(const View& view, std::size_t dim) {
  View out = view;
  out.dims.erase(out.dims.begin() + static_cast<std::ptrdiff_t>(dim));
  return out;
}

}  // namespace scalecalc::graphs
