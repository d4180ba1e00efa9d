#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/parts.hpp"
#include "network/validate.hpp"

/// Frames (of sound) that the encoder of two stacks reads through convolutions over time.
namespace scalecalc {

/// Of memory.conv_strides, one for each convolution; no frames: none.
std::vector<std::int64_t> conv_strides(const ModelSpec& spec);
/// Of so many frames the convolutions leave memory.sequence tokens.
std::int64_t memory_frames(const ModelSpec& spec);

/// Throws Error(input) for a text that is no list of strides.
std::string known_strides(const std::string& text, const std::string& where);
std::optional<SpecProblem> frames_problem(const ModelSpec& spec);

/// The convolutions, each with the activation behind it, and the sinusoids. `encoder`: of the
/// encoder's own spec, whose frames `spec` has.
void add_frames(const ModelSpec& spec, const Parts& encoder, std::vector<Layer>& layers);

}  // namespace scalecalc
