#include <algorithm>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "weights/safetensors_header.hpp"

/// Weights: an input that begins with '{' is a header, and the index of a sharded model, by itself;
/// any other is a whole file, whose values are read.
namespace scalecalc::fuzz {
namespace {

constexpr std::uint64_t data_bytes = 4096;
constexpr std::int64_t block = 1024;

void read_values(const weights::Reader& reader) {
  std::vector<double> values(block);
  for (const weights::Tensor& tensor : reader.tensors()) {
    hold(tensor.begin <= tensor.end && tensor.end <= reader.bytes(), "a tensor outside the file",
         tensor.name);
    if (tensor.dtype == weights::Dtype::other) continue;
    for (std::int64_t at = 0; at < tensor.elements; at += block)
      reader.read(tensor, at, std::min(block, tensor.elements - at), values.data());
  }
}

}  // namespace

void one(std::string_view input) {
  if (input.starts_with('{')) {
    accepts([&] { weights::parse_header(input, data_bytes, "model.safetensors"); });
    accepts([&] { weights::parse_index(input, "model.safetensors.index.json"); });
    return;
  }
  const std::string path = file_of(input, "model.safetensors");
  accepts([&] { read_values(weights::Reader(path)); });
}

}  // namespace scalecalc::fuzz
