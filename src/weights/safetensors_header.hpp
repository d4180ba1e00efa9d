#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scalecalc/error.hpp"
#include "weights/safetensors.hpp"

namespace scalecalc::weights {

/// "file: ...; what would be right", for all that is wrong with a file.
Error wrong_file(const std::string& message, const std::string& path, const std::string& hint = {});

/// The tensors of a header, by rising position, their bytes counted from the start of the data.
/// `data_bytes` follow the header. Throws Error(input) as Reader does; `path` is for messages.
std::vector<Tensor> parse_header(std::string_view json, std::uint64_t data_bytes,
                                 const std::string& path);

/// The weight_map of an index: tensor name -> file name, which has no folder. Throws Error(input).
std::map<std::string, std::string> parse_index(std::string_view json, const std::string& path);

/// Throws Error(input) for a name that is empty, too long, or has control characters.
void check_name(const std::string& name, const std::string& path);
/// Their product. Throws Error(input) where it, or the bytes at `bits` a value, do not fit.
std::int64_t count_elements(const std::vector<std::int64_t>& shape, int bits,
                            const std::string& name, const std::string& path);

}  // namespace scalecalc::weights
