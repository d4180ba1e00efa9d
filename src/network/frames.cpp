#include "network/frames.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

using Problem = std::optional<SpecProblem>;

constexpr std::int64_t max_stride = 16, max_kernel = 1001, max_frames = 1000000;
constexpr std::size_t max_convolutions = 16;

/// Whole numbers between blanks; empty where one is none, or too large.
std::vector<std::int64_t> strides_in(const std::string& text) {
  std::vector<std::int64_t> strides;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at != end && *at == ' ') ++at;
    if (at == end) return strides;
    std::int64_t stride = 0;
    const auto [behind, error] = std::from_chars(at, end, stride);
    if (error != std::errc() || (behind != end && *behind != ' ')) return {};
    if (stride < 1 || stride > max_stride || strides.size() == max_convolutions) return {};
    strides.push_back(stride);
    at = behind;
  }
}

/// The field that says something of frames, and none are read; null: no field.
const char* said_without_frames(const ModelSpec::Memory& memory) {
  const ModelSpec::Memory none;
  if (memory.conv_kernel != none.conv_kernel) return "conv_kernel";
  if (memory.conv_strides != none.conv_strides) return "conv_strides";
  return memory.sinusoids ? "sinusoids" : nullptr;
}

}  // namespace

std::vector<std::int64_t> conv_strides(const ModelSpec& spec) {
  return spec.memory.features > 0 ? strides_in(spec.memory.conv_strides)
                                  : std::vector<std::int64_t>();
}

std::int64_t memory_frames(const ModelSpec& spec) {
  std::int64_t frames = spec.memory.sequence;
  for (const std::int64_t stride : conv_strides(spec))
    if (frames <= max_frames) frames *= stride;
  return frames;
}

std::string known_strides(const std::string& text, const std::string& where) {
  if (!strides_in(text).empty()) return text;
  throw Error(ErrorKind::input,
              fmt::format("strides of convolutions must be positive numbers between blanks, whole "
                          "and at most {}, got \"{}\"",
                          max_stride, base::shortened(text)),
              where, "for example \"1 2\", of at most 16 convolutions");
}

Problem frames_problem(const ModelSpec& spec) {
  const ModelSpec::Memory& memory = spec.memory;
  if (memory.features == 0) {
    const char* const said = said_without_frames(memory);
    if (said == nullptr) return {};
    return SpecProblem{
        {std::string("memory.") + said, "memory.features"},
        std::string(said) + " is of frames that an encoder reads, and there are none",
        "use features = 80, or leave it out"};
  }
  if (!spec.encoder_decoder || spec.input.kind != InputKind::tokens)
    return SpecProblem{{"memory.features", "encoder_decoder", "input.kind"},
                       "features of the memory are of an encoder's frames, beside a decoder that "
                       "reads tokens",
                       "use encoder_decoder = true and input kind = \"tokens\", or leave it out"};
  if (memory.conv_kernel % 2 == 0 || memory.conv_kernel > max_kernel)
    return SpecProblem{{"memory.conv_kernel"},
                       fmt::format("conv_kernel must be odd and at most {}, got {}", max_kernel,
                                   memory.conv_kernel),
                       "use conv_kernel = 3"};
  if (strides_in(memory.conv_strides).empty())
    return SpecProblem{{"memory.conv_strides"},
                       "conv_strides must be positive numbers between blanks, at least one",
                       "for example \"1 2\""};
  if (memory_frames(spec) > max_frames)
    return SpecProblem{{"memory.sequence", "memory.conv_strides"},
                       fmt::format("an encoder may read at most {} frames", max_frames),
                       "use a shorter sequence or smaller strides"};
  if (memory.sinusoids && spec.width % 2 != 0)
    return SpecProblem{
        {"memory.sinusoids", "width"},
        fmt::format("sinusoids are pairs of a sine and a cosine (width {})", spec.width),
        "use an even width"};
  return {};
}

void add_frames(const ModelSpec& spec, const Parts& encoder, std::vector<Layer>& layers) {
  const ModelSpec::Memory& memory = spec.memory;
  const Expr width = Expr::symbol("width"), kernel = memory.conv_kernel;
  std::int64_t frames = memory_frames(spec), in = memory.features, index = 0;
  for (const std::int64_t stride : conv_strides(spec)) {
    const std::string path = fmt::format("encoder.conv[{}]", index);
    Conv2d layer;
    layer.path = path;
    layer.in_channels = in;
    layer.out_channels = spec.width;
    layer.kernel = memory.conv_kernel;
    layer.stride = stride;
    layer.padding = memory.conv_kernel / 2;
    layer.one_row = true;
    layer.height = 1;
    layer.width = frames;
    const Expr channels = index == 0 ? Expr(in) : width;
    layer.weight = at(encoder.linear("linear", {layer.kernel * in, kernel * channels},
                                     {spec.width, kernel * width / Expr(stride)}, false),
                      path);
    frames = layer.out_width();
    layers.push_back({std::move(layer)});
    layers.push_back({ActivationLayer{path + ".act", spec.activation}});
    in = spec.width;
    ++index;
  }
  if (memory.sinusoids)
    layers.push_back(
        {ClassTokens{"encoder.embedding", 0, spec.width, memory.sequence, 0, 0, true}});
}

}  // namespace scalecalc
