#pragma once

#include <cstdint>
#include <string_view>

#include "base/philox.hpp"

/// Bulk draws on the host. Every value depends on its stream and its index alone.
namespace scalecalc::tensor {

using base::Stream;

/// What one tensor is filled with. `std` is the standard deviation of an entry.
struct Draw {
  enum class Kind { normal, uniform, truncated_normal };
  Kind kind = Kind::normal;
  double std = 1.0;
  Stream stream;
};

/// The stream of a named thing (name and suffix read as one): depends on the name, not on its
/// position in a network.
std::uint64_t stream_id(std::string_view name, std::string_view suffix = {});

/// Values first .. first + count of the stream, uniform in (0, 1).
void fill_uniform(const Stream& stream, std::uint64_t first, std::int64_t count, double* out);
/// p -> Phi^-1(p) in place, for p in (0, 1).
void inverse_normal(std::int64_t count, double* values);
double inverse_normal(double p);
double natural_log(double x);

/// Values first .. first + count of a draw, rounded to Real; `first` is even.
template <class Real>
void fill(const Draw& draw, std::uint64_t first, std::int64_t count, Real* out);
/// Indices uniform in 0 .. bound - 1.
void fill_indices(const Stream& stream, std::int64_t bound, std::int64_t count, std::int32_t* out);

}  // namespace scalecalc::tensor
