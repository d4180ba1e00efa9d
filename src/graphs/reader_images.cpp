#include <fmt/format.h>

#include "graphs/reader.hpp"
#include "scalecalc/layers/windows.hpp"

/// What reads an image through windows: convolutions and pools.
namespace scalecalc::graphs {

std::int64_t Reader::one_of_both(const Node& node, const char* name, std::int64_t otherwise) const {
  const Argument* argument = node.find(name);
  if (argument == nullptr || argument->integers.empty()) return otherwise;
  if (argument->integers.front() != argument->integers.back())
    fail(node, fmt::format("its {} differs between rows and columns", name));
  return argument->integers.front();
}

void Reader::window(const Node& node, const Value& input, Part part) {
  const Part& before = graph_.parts[input.part];
  constexpr std::int64_t most = 1'000'000;
  if (part.stride < 1 || part.groups < 1 || part.kernel < 1 || part.padding < 0 ||
      part.padding > most || part.kernel > most || part.stride > most || part.factor < 1 ||
      part.factor > most || part.output_padding < 0 || part.output_padding > most)
    fail(node, "its stride, groups or padding cannot be");
  const bool is_image = input.view.dims.size() == 4 && before.height > 0 &&
                        axes_of({{input.view.dims[1]}, 0, 0}, Axis::Of::feature).size() +
                                (before.features == 1 ? 1u : 0u) ==
                            1;
  if (!is_image) fail(node, "its input is no image");
  if (sizes(node.outputs[0]).size() != 4) fail(node, "its output is no image");
  const auto side = [&](std::int64_t of) {
    if (part.kind == Part::Kind::upsample) return part.factor * of;
    if (part.is_transposed)
      return (of - 1) * part.stride - 2 * part.padding + part.kernel + part.output_padding;
    return windows_along(of, part.kernel, part.stride, part.padding);
  };
  const std::int64_t columns = side(before.tokens / before.height);
  part.inputs = {input.part};
  part.height = side(before.height);
  if (part.height < 1 || columns < 1) fail(node, "the kernel is larger than the image");
  if (part.height > most || columns > most) fail(node, "the image that it makes is too large");
  part.tokens = part.height * columns;
  become_image(node, input, std::move(part), columns);
}

void Reader::become_image(const Node& node, const Value& input, Part part, std::int64_t width) {
  View view = input.view;
  const auto axis = [](Axis::Of of, std::int64_t size, std::int64_t stride) {
    return size == 1 ? std::vector<Axis>() : std::vector<Axis>{{of, size, stride}};
  };
  view.feature = 0;
  view.dims[1] = axis(Axis::Of::feature, part.features, 1);
  view.dims[2] = axis(Axis::Of::token, part.height, width);
  view.dims[3] = axis(Axis::Of::token, width, 1);
  become(node, add(node, std::move(part)), std::move(view));
}

/// Channels of a kernel, (out, in/groups, ..) or of a transposed one (in, out/groups, ..).
void Reader::read_kernel(const Node& node, const Sizes& shape, Part& part) const {
  const Argument* transposed = node.find("transposed");
  part.is_transposed =
      node.operation == "conv_transpose2d" || (transposed != nullptr && transposed->flag == true);
  part.kernel = shape[2];
  part.stride = one_of_both(node, "stride", 1);
  part.groups = integer(node, "groups", 1);
  const Argument* padding = node.find("padding");
  part.padding = one_of_both(node, "padding", 0);
  if (padding != nullptr && padding->text == "same") part.padding = part.kernel / 2;
  if (shape[2] != shape[3]) fail(node, "its kernel is no square");
  if (one_of_both(node, "dilation", 1) != 1) fail(node, "its kernel is dilated");
  part.features = shape[0];
  if (!part.is_transposed) return;
  if (part.groups < 1 || part.groups > shape[0])
    fail(node, "its stride, groups or padding cannot be");
  part.output_padding = one_of_both(node, "output_padding", 0);
  part.features = shape[1] * part.groups;
}

void Reader::convolution(const Node& node) {
  const Value input = whole(node, value(node, 0));
  const Value& weight = value(node, 1);
  const Value* bias = optional_value(node, "bias");
  const Sizes& shape = sizes(*node.arguments[1].tensors[0]);
  const Part& before = graph_.parts[input.part];
  if (weight.kind != Value::Kind::parameter || shape.size() != 4)
    fail(node, "its kernel is no parameter of four dimensions", "convolutions of images are known");
  Part part;
  part.kind = Part::Kind::convolution;
  read_kernel(node, shape, part);
  const std::int64_t read = part.is_transposed ? shape[0] : shape[1] * part.groups;
  if (read != before.features)
    fail(node, "the graph contradicts itself: the kernel is of other channels");
  part.weight = weight.tensor;
  if (bias != nullptr) part.bias = bias->tensor;
  window(node, input, std::move(part));
}

/// By nearest neighbours, as much in both directions.
void Reader::upsample(const Node& node) {
  const Value input = whole(node, value(node, 0));
  const Part& before = graph_.parts[input.part];
  const Sizes& own = sizes(node.outputs[0]);
  if (input.view.dims.size() != 4 || own.size() != 4 || before.height < 1)
    fail(node, "its input is no image");
  Part part;
  part.kind = Part::Kind::upsample;
  part.factor = own[2] / before.height;
  const std::int64_t columns = before.tokens / before.height;
  if (part.factor < 1 || own[2] != part.factor * before.height || own[3] != part.factor * columns)
    fail(node, "it makes the image larger by no whole number, or not by one for both sides",
         "use scale_factor = 2");
  part.features = before.features;
  window(node, input, std::move(part));
}

void Reader::max_pool(const Node& node) {
  const Value input = whole(node, value(node, 0));
  Part part;
  part.kind = Part::Kind::max_pool;
  part.kernel = one_of_both(node, "kernel_size", 1);
  part.stride = one_of_both(node, "stride", part.kernel);
  part.padding = one_of_both(node, "padding", 0);
  const Argument* ceil = node.find("ceil_mode");
  if (one_of_both(node, "dilation", 1) != 1) fail(node, "its window is dilated");
  if (ceil != nullptr && ceil->flag == true)
    fail(node, "its last windows leave the image", "use ceil_mode = False");
  if (2 * part.padding > part.kernel) fail(node, "its padding is more than half of its kernel");
  part.features = graph_.parts[input.part].features;
  window(node, input, std::move(part));
}

/// The mean over all tokens of an image.
void Reader::pool(const Node& node) {
  const Value input = whole(node, value(node, 0));
  const Sizes& own = sizes(node.outputs[0]);
  const bool is_all = input.view.dims.size() == 4 && own.size() == 4 && own[2] == 1 && own[3] == 1;
  if (!is_all) fail(node, "it pools less than the whole image", "use strides of convolutions");
  Part part;
  part.kind = Part::Kind::pool;
  part.inputs = {input.part};
  part.features = graph_.parts[input.part].features;
  View view = input.view;
  view.dims[2].clear();
  view.dims[3].clear();
  become(node, add(node, std::move(part)), std::move(view));
}

}  // namespace scalecalc::graphs
