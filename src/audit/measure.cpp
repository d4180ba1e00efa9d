#include "audit/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "audit/central_moments.hpp"
#include "audit/histogram.hpp"
#include "base/workers.hpp"
#include "weights/half.hpp"

namespace scalecalc::audit_room {
namespace {

using weights::Dtype;
using weights::Reader;
using weights::Tensor;

constexpr std::int64_t unit_values = 65536;  ///< read at once
constexpr std::size_t block_values = 8192;   ///< summed at once: they stay in the first cache

/// What is known of one part, from one unit of the tensor.
struct Piece {
  CentralMoments moments;
  std::int64_t nans = 0, infinities = 0;

  void add(const Piece& other) {
    moments.add(other.moments);
    nans += other.nans;
    infinities += other.infinities;
  }
};

/// Takes the values of one part as they come and sums them in blocks of a fixed size.
template <class Real>
class Collector {
 public:
  explicit Collector(Histogram& histogram) : histogram_(histogram) { block_.reserve(block_values); }

  void take(const Real* values, std::size_t count) {
    while (count > 0) {
      if (block_.empty() && count >= block_values) {
        sum(values, block_values);
        values += block_values;
        count -= block_values;
        continue;
      }
      const std::size_t fits = std::min(count, block_values - block_.size());
      block_.insert(block_.end(), values, values + fits);
      values += fits;
      count -= fits;
      if (block_.size() == block_values) flush();
    }
  }

  Piece finish() {
    flush();
    return piece_;
  }

 private:
  void flush() {
    sum(block_.data(), block_.size());
    block_.clear();
  }

  void sum(const Real* values, std::size_t count) {
    if (count == 0) return;
    const CentralMoments moments = central_moments(values, count);
    if (!std::isfinite(moments.mean)) return sum_finite(values, count);
    piece_.moments.add(moments);
    histogram_.add(values, count);
  }

  void sum_finite(const Real* values, std::size_t count) {
    std::vector<Real> finite;
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isnan(values[i]))
        ++piece_.nans;
      else if (std::isinf(values[i]))
        ++piece_.infinities;
      else
        finite.push_back(values[i]);
    }
    piece_.moments.add(central_moments(finite.data(), finite.size()));
    histogram_.add(finite.data(), finite.size());
  }

  Histogram& histogram_;
  std::vector<Real> block_;
  Piece piece_;
};

/// The values of a unit, converted where they are stored in 16 bits.
template <class Real>
class Buffer {
 public:
  explicit Buffer(Dtype dtype) : dtype_(dtype), values_(unit_values) {
    if (sizeof(Real) != weights::value_bytes(dtype)) halves_.resize(unit_values);
  }

  const Real* read(const Reader& reader, const Tensor& tensor, std::int64_t first,
                   std::size_t count) {
    const std::size_t size = weights::value_bytes(dtype_);
    const auto at = static_cast<std::uint64_t>(first) * size;
    if (halves_.empty()) {
      reader.read_bytes(tensor, at, count * size, values_.data());
      return values_.data();
    }
    reader.read_bytes(tensor, at, count * size, halves_.data());
    const std::uint16_t* from = halves_.data();
    Real* to = values_.data();
    if (dtype_ == Dtype::f16) {
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Real>(float_from_half(from[i]));
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Real>(float_from_bfloat(from[i]));
    }
    return values_.data();
  }

 private:
  Dtype dtype_;
  std::vector<Real> values_;
  std::vector<std::uint16_t> halves_;
};

/// One tensor, unit by unit.
template <class Real>
class Pass {
 public:
  Pass(const Reader& reader, const Tensor& tensor, const Division& division)
      : reader_(reader),
        tensor_(tensor),
        bounds_(division.bounds),
        parts_(bounds_.size() - 1),
        units_(static_cast<std::size_t>((tensor.elements + unit_values - 1) / unit_values)),
        pieces_(units_ * parts_),
        histograms_(parts_) {}

  std::vector<Sample> run(int threads) {
    if (threads > 1 && units_ > 1) {
      run_parallel(std::min(threads, static_cast<int>(std::min<std::size_t>(units_, 1024))));
    } else {
      Buffer<Real> buffer(tensor_.dtype);
      for (std::size_t unit = 0; unit < units_; ++unit) measure_unit(unit, buffer, histograms_);
    }
    std::vector<Sample> samples;
    for (std::size_t part = 0; part < parts_; ++part) {
      Piece whole;
      for (std::size_t unit = 0; unit < units_; ++unit) whole.add(pieces_[unit * parts_ + part]);
      samples.push_back(sample_of(whole, histograms_[part]));
    }
    return samples;
  }

 private:
  /// Counts are added in any order; sums are kept by unit and added in their order.
  void run_parallel(int threads) {
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    base::Workers workers;
    workers.run(threads, [&] {
      Buffer<Real> buffer(tensor_.dtype);
      std::vector<Histogram> histograms(parts_);
      for (std::size_t unit = next++; unit < units_ && !workers.stopped(); unit = next++)
        measure_unit(unit, buffer, histograms);
      const std::lock_guard lock(mutex);
      for (std::size_t part = 0; part < parts_; ++part) histograms_[part].add(histograms[part]);
    });
  }

  void measure_unit(std::size_t unit, Buffer<Real>& buffer, std::vector<Histogram>& histograms) {
    const std::int64_t first = static_cast<std::int64_t>(unit) * unit_values;
    const std::int64_t last = std::min(first + unit_values, tensor_.elements);
    const Real* values =
        buffer.read(reader_, tensor_, first, static_cast<std::size_t>(last - first));
    std::vector<Collector<Real>> collectors;
    for (Histogram& histogram : histograms) collectors.emplace_back(histogram);
    std::int64_t at = first;
    while (at < last) {
      const std::int64_t column = at % bounds_.back();
      const auto bound = std::upper_bound(bounds_.begin() + 1, bounds_.end(), column);
      const auto part = static_cast<std::size_t>(bound - bounds_.begin() - 1);
      const std::int64_t run = parts_ == 1 ? last - at : std::min(*bound - column, last - at);
      collectors[part].take(values + (at - first), static_cast<std::size_t>(run));
      at += run;
    }
    for (std::size_t part = 0; part < parts_; ++part)
      pieces_[unit * parts_ + part] = collectors[part].finish();
  }

  Sample sample_of(const Piece& piece, const Histogram& histogram) const {
    const CentralMoments& moments = piece.moments;
    Sample sample;
    sample.count = moments.count;
    sample.nans = piece.nans;
    sample.infinities = piece.infinities;
    if (moments.count == 0) return sample;
    const auto n = static_cast<double>(moments.count);
    sample.mean = moments.mean;
    sample.std = std::sqrt(moments.m2 / n);
    sample.min = moments.min;
    sample.max = moments.max;
    if (moments.min == moments.max || moments.m2 <= 0) {
      sample.std = 0;
      sample.kurtosis = std::numeric_limits<double>::quiet_NaN();
      return sample;
    }
    sample.kurtosis = n * (moments.m4 / moments.m2) / moments.m2;
    const auto beyond = [&](double deviations) {
      const double low = sample.mean - deviations * sample.std;
      const double high = sample.mean + deviations * sample.std;
      return histogram.share_below(low, tensor_.dtype) + 1 -
             histogram.share_below(high, tensor_.dtype);
    };
    sample.beyond_2 = beyond(2);
    sample.beyond_3 = beyond(3);
    return sample;
  }

  const Reader& reader_;
  const Tensor& tensor_;
  const std::vector<std::int64_t>& bounds_;
  std::size_t parts_, units_;
  std::vector<Piece> pieces_;
  std::vector<Histogram> histograms_;
};

}  // namespace

std::vector<Sample> measure(const Reader& reader, const Tensor& tensor, const Division& division,
                            int threads) {
  if (tensor.dtype == Dtype::f64) return Pass<double>(reader, tensor, division).run(threads);
  return Pass<float>(reader, tensor, division).run(threads);
}

}  // namespace scalecalc::audit_room
