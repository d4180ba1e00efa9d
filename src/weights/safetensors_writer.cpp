#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/file_writer.hpp"
#include "base/text.hpp"
#include "weights/half.hpp"
#include "weights/safetensors_header.hpp"

namespace scalecalc::weights {
namespace {

constexpr std::int64_t block = 65536;
constexpr std::size_t alignment = 8;

const char* name_of(Dtype dtype) {
  return dtype == Dtype::f32 ? "F32" : dtype == Dtype::f16 ? "F16" : "BF16";
}

/// Quoted and escaped. Throws Error(input) for text that is not UTF-8.
std::string json_string(const std::string& text, const std::string& path) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw wrong_file(fmt::format("'{}' is not UTF-8", base::shortened(text)), path,
                     "names are UTF-8");
  }
}

/// Ends in spaces, so that the values are aligned.
std::string header_of(const std::vector<Outline>& tensors, const WriteOptions& options,
                      const std::string& path) {
  const std::size_t size = value_bytes(options.dtype);
  std::string text = "{";
  if (!options.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : options.metadata)
      text += json_string(key, path) + ":" + json_string(value, path) + ",";
    text.back() = '}';
    text += ",";
  }
  std::set<std::string> names;
  std::uint64_t at = 0;
  for (const Outline& tensor : tensors) {
    check_name(tensor.name, path);
    if (tensor.name == "__metadata__" || !names.insert(tensor.name).second)
      throw wrong_file(fmt::format("'{}' is not a free name", base::shortened(tensor.name)), path,
                       "tensors have different names, not __metadata__");
    const auto bytes = static_cast<std::uint64_t>(count_elements(
                           tensor.shape, static_cast<int>(8 * size), tensor.name, path)) *
                       size;
    text += fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}},",
                        json_string(tensor.name, path), name_of(options.dtype),
                        fmt::join(tensor.shape, ","), at, at + bytes);
    at += bytes;
  }
  if (text.back() == ',') text.pop_back();
  text += "}";
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  return text;
}

class Values {
 public:
  Values(base::FileWriter& file, Dtype dtype) : file_(file), dtype_(dtype), floats_(block) {
    if (dtype != Dtype::f32) halves_.resize(block);
  }

  float* data() { return floats_.data(); }
  void write(std::size_t count) {
    if (dtype_ == Dtype::f32) return file_.write(floats_.data(), count * sizeof(float));
    std::transform(
        floats_.begin(), floats_.begin() + static_cast<std::ptrdiff_t>(count), halves_.begin(),
        dtype_ == Dtype::f16 ? [](float value) { return half_from_float(value); }
                             : [](float value) { return bfloat_from_float(value); });
    file_.write(halves_.data(), count * sizeof(std::uint16_t));
  }

 private:
  base::FileWriter& file_;
  Dtype dtype_;
  std::vector<float> floats_;
  std::vector<std::uint16_t> halves_;
};

}  // namespace

void write(const std::string& path, const std::vector<Outline>& tensors, const Fill& fill,
           const WriteOptions& options) {
  if (options.dtype == Dtype::f64 || options.dtype == Dtype::other)
    throw wrong_file("only F32, F16 and BF16 are written", path, "choose one of them");
  const std::string header = header_of(tensors, options, path);
  base::FileWriter file(path);
  const std::uint64_t length = header.size();
  file.write(&length, sizeof length);
  file.write(header.data(), header.size());
  Values values(file, options.dtype);
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    std::int64_t elements = 1;
    for (const std::int64_t size : tensors[k].shape) elements *= size;
    for (std::int64_t at = 0; at < elements; at += block) {
      const std::int64_t count = std::min(block, elements - at);
      fill(k, at, count, values.data());
      values.write(static_cast<std::size_t>(count));
    }
  }
  file.commit();
}

}  // namespace scalecalc::weights
