#include "graphs/figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "weights/half.hpp"

namespace scalecalc::graphs {
namespace {

/// As many entries of a tensor give its std to 1/sqrt(2 * 65536) = 0.3%.
constexpr std::int64_t most_entries = 65536;
constexpr std::int64_t block_entries = 2048;

class Sum {
 public:
  void add(double x) {
    ++figure_.counted;
    first_ += x;
    second_ += x * x;
    least_ = std::min(least_, x);
    most_ = std::max(most_, x);
  }
  std::optional<Figure> take() {
    if (figure_.counted == 0 || !std::isfinite(second_)) return std::nullopt;
    const auto n = static_cast<double>(figure_.counted);
    figure_.mean = first_ / n;
    figure_.std = std::sqrt(second_ / n);
    figure_.is_constant = least_ == most_;
    // Of normal entries, n > 200, one in 12 lies beyond.
    figure_.is_uniform =
        figure_.counted > 200 && std::max(most_, -least_) <= 1.02 * std::sqrt(3.0) * figure_.std;
    return figure_;
  }

 private:
  Figure figure_;
  double first_ = 0, second_ = 0, least_ = HUGE_VAL, most_ = -HUGE_VAL;
};

template <class Number, class Convert>
void add_all(const std::string& bytes, const Convert& convert, Sum& sum) {
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    sum.add(convert(number));
  }
}

std::uint64_t bytes_of(weights::Dtype dtype) {
  return weights::value_bytes(dtype);
}

}  // namespace

Figures::Figures(const Program& program, const Constants& constants,
                 const weights::ZipArchive& archive)
    : program_(program), constants_(constants), archive_(archive) {
  for (const weights::Tensor& tensor : program.weights.weights)
    by_name_.emplace(tensor.name, &tensor);
  for (const auto& [name, first] : program.weights.tied) {
    const auto known = by_name_.find(first);
    if (known != by_name_.end()) by_name_.emplace(name, known->second);
  }
}

std::optional<Figure> Figures::tensor(std::size_t tensor) const {
  return rows(tensor, Part());
}

std::optional<Figure> Figures::weight(const Part& part) const {
  return rows(part.weight, part);
}

std::optional<Figure> Figures::bias(const Part& part) const {
  if (part.bias == nothing) return std::nullopt;
  Part whole = part;
  whole.is_in_out = false;
  return rows(part.bias, whole);
}

/// A share's entries lie in runs: rows of (out, in), or of each input in (in, out).
std::optional<Figure> Figures::rows(std::size_t tensor, const Part& part) const {
  if (tensor == nothing) return std::nullopt;
  const auto found = by_name_.find(constants_.target(tensor));
  if (found == by_name_.end() || found->second->dtype == weights::Dtype::other ||
      found->second->shape != program_.tensors[tensor].sizes)
    return std::nullopt;
  const weights::Tensor& stored = *found->second;
  const std::int64_t all = std::max<std::int64_t>(1, part.all_rows);
  const bool is_share = part.all_rows != 0 && part.rounds == 1 && stored.elements % all == 0;
  const std::int64_t across = stored.elements / all;  // entries of a row
  std::int64_t runs = 1, first = 0, step = 0, length = stored.elements;
  if (is_share && part.is_in_out) {
    runs = across;
    first = part.first_row;
    step = all;
    length = part.features;
  } else if (is_share) {
    first = part.first_row * across;
    length = part.features * across;
  }
  Sum sum;
  const auto size = static_cast<std::int64_t>(bytes_of(stored.dtype));
  const std::int64_t each = std::max<std::int64_t>(1, most_entries / runs);
  const std::int64_t skipped_runs = std::max<std::int64_t>(1, runs / 64);
  for (std::int64_t run = 0; run < runs; run += skipped_runs) {
    const std::int64_t share = std::min(length, each * skipped_runs);
    const std::int64_t blocks = std::max<std::int64_t>(1, share / block_entries);
    const std::int64_t block = share == length ? length : std::min(block_entries, length);
    for (std::int64_t i = 0; i < (share == length ? 1 : blocks); ++i) {
      const std::int64_t at = first + run * step + (share == length ? 0 : i * (length / blocks));
      if (at < 0 || block <= 0 || at + block > stored.elements) continue;
      std::string bytes(static_cast<std::size_t>(block * size), '\0');
      archive_.read(stored.begin + static_cast<std::uint64_t>(at * size), bytes.size(),
                    bytes.data());
      switch (stored.dtype) {
        case weights::Dtype::f64:
          add_all<double>(
              bytes, [](double x) { return x; }, sum);
          break;
        case weights::Dtype::f32:
          add_all<float>(
              bytes, [](float x) { return x; }, sum);
          break;
        case weights::Dtype::f16: add_all<std::uint16_t>(bytes, float_from_half, sum); break;
        case weights::Dtype::bf16: add_all<std::uint16_t>(bytes, float_from_bfloat, sum); break;
        case weights::Dtype::other: break;
      }
    }
  }
  return sum.take();
}

}  // namespace scalecalc::graphs
