#include <algorithm>
#include <cmath>
#include <numbers>

#include "export/code_plan.hpp"
#include "export/weights.hpp"
#include "tensor/orthogonal.hpp"

namespace scalecalc {
namespace {

using export_room::Fill;
using export_room::FilledTensor;
using tensor::Stream;

constexpr std::int64_t kChunk = 65536;

double normal_below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// A part of a tensor as a matrix: rows of the first axis, all else columns.
struct Part {
  const Fill& fill;
  Stream stream;
  std::int64_t rows = 1, columns = 1;
};

/// Of row r and column c.
double listed(const Part& part, std::int64_t r, std::int64_t c) {
  if (part.fill.start == "log_range") return std::log(static_cast<double>(c + 1));
  const bool in_pairs = part.fill.start == "sinusoid_pairs";
  const std::int64_t half = part.columns / 2;
  const bool is_sine = in_pairs ? c % 2 == 0 : c < half;
  const auto i = static_cast<double>(in_pairs ? c / 2 : is_sine ? c : c - half);
  const double angle =
      static_cast<double>(r) * std::pow(1e4, -i / std::max(part.fill.numbers[0], 1.0));
  return is_sine ? std::sin(angle) : std::cos(angle);
}

/// Numbers uniform in (0, 1) to values of the draw.
void shape_values(const Fill& fill, std::int64_t count, double* values) {
  const std::vector<double>& n = fill.numbers;
  double* const end = values + count;
  if (fill.start == "uniform") {
    for (double* u = values; u != end; ++u) *u = n[0] + (n[1] - n[0]) * *u;
  } else if (fill.start == "normal") {
    tensor::inverse_normal(count, values);
    for (double* z = values; z != end; ++z) *z = n[0] + n[1] * *z;
  } else if (fill.start == "truncated_normal") {
    const double low = normal_below(n[1] / n[0]), high = normal_below(n[2] / n[0]);
    for (double* u = values; u != end; ++u) *u = low + (high - low) * *u;
    tensor::inverse_normal(count, values);
    for (double* z = values; z != end; ++z) *z = std::clamp(n[0] * *z, n[1], n[2]);
  } else {  // time_step
    for (double* u = values; u != end; ++u) {
      const double step = std::max(n[2], std::exp(std::log(n[0]) + *u * std::log(n[1] / n[0])));
      *u = step + std::log(-std::expm1(-step));
    }
  }
}

/// Values first .. first + count of a part, row-major, count at most kChunk.
void values_of(const Part& part, std::int64_t first, std::int64_t count, double* out) {
  const std::string& start = part.fill.start;
  if (start == "log_range" || start.starts_with("sinusoid")) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = listed(part, (first + i) / part.columns, (first + i) % part.columns);
  } else if (start == "constant" || start == "zeros" || start == "ones") {
    std::fill_n(out, count, part.fill.value);
  } else {
    tensor::fill_uniform(part.stream, static_cast<std::uint64_t>(first), count, out);
    shape_values(part.fill, count, out);
  }
}

std::vector<double> whole(const Part& part) {
  if (part.fill.start == "orthogonal")
    return tensor::draw_orthogonal(part.stream, part.fill.numbers[0], part.rows, part.columns);
  std::vector<double> all(static_cast<std::size_t>(part.rows * part.columns));
  const auto count = static_cast<std::int64_t>(all.size());
  for (std::int64_t at = 0; at < count; at += kChunk)
    values_of(part, at, std::min(kChunk, count - at), all.data() + at);
  return all;
}

/// Tensors of one part are drawn block by block, others as a whole.
class LibraryDraws {
 public:
  LibraryDraws(const std::vector<FilledTensor>& tensors, std::uint64_t seed)
      : tensors_(tensors), seed_(seed) {}

  void fill(std::size_t index, std::int64_t first, std::int64_t count, float* out) {
    const FilledTensor& tensor = tensors_[index];
    if (tensor.fills.size() == 1 && tensor.fills[0].start != "orthogonal") {
      const Part part = part_of(tensor, 0);
      std::vector<double> chunk(static_cast<std::size_t>(std::min(count, kChunk)));
      for (std::int64_t at = 0; at < count; at += kChunk) {
        const std::int64_t n = std::min(kChunk, count - at);
        values_of(part, first + at, n, chunk.data());
        std::copy_n(chunk.begin(), n, out + at);
      }
    } else {
      if (index != current_ || values_.empty()) assemble(index);
      std::copy_n(values_.begin() + first, count, out);
    }
    if (tensor.zero_row) clear_row(tensor, first, count, out);
  }

 private:
  Part part_of(const FilledTensor& tensor, std::size_t at) const {
    Part part{tensor.fills[at],
              {seed_, tensor::stream_id(tensor.name, at == 0 ? "" : "/" + std::to_string(at))}};
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const bool is_own = static_cast<int>(axis) == tensor.axis;
      (axis == 0 ? part.rows : part.columns) *=
          is_own ? tensor.fills[at].length : tensor.shape[axis];
    }
    return part;
  }

  /// The parts lie side by side along the axis.
  void assemble(std::size_t index) {
    const FilledTensor& tensor = tensors_[index];
    values_.clear();
    std::int64_t before = 1, behind = 1;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis)
      if (static_cast<int>(axis) != tensor.axis)
        (static_cast<int>(axis) < tensor.axis ? before : behind) *= tensor.shape[axis];
    std::vector<std::vector<double>> parts;
    for (std::size_t at = 0; at < tensor.fills.size(); ++at)
      parts.push_back(whole(part_of(tensor, at)));
    for (std::int64_t i = 0; i < before; ++i)
      for (std::size_t at = 0; at < parts.size(); ++at) {
        const std::int64_t run = tensor.fills[at].length * behind;
        values_.insert(values_.end(), parts[at].begin() + i * run,
                       parts[at].begin() + (i + 1) * run);
      }
    current_ = index;
  }

  static void clear_row(const FilledTensor& tensor, std::int64_t first, std::int64_t count,
                        float* out) {
    const std::int64_t begin = *tensor.zero_row * tensor.shape[1] - first;
    const std::int64_t from = std::clamp<std::int64_t>(begin, 0, count);
    std::fill(out + from, out + std::clamp(begin + tensor.shape[1], from, count), 0.0F);
  }

  const std::vector<FilledTensor>& tensors_;
  std::uint64_t seed_;
  std::size_t current_ = 0;
  std::vector<double> values_;
};

}  // namespace

void write_weights(const LibraryPlan& plan, const std::string& path, const WeightOptions& options) {
  std::vector<FilledTensor> tensors = export_room::code_plan(plan).tensors;
  std::erase_if(tensors, [](const FilledTensor& tensor) { return tensor.may_be_absent; });
  LibraryDraws draws(tensors, options.seed);
  export_room::write_tensors(path, tensors, draws, options);
}

}  // namespace scalecalc
