#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "moments/activation.hpp"
#include "moments/attention.hpp"
#include "moments/gated.hpp"
#include "moments/norm.hpp"
#include "moments/overlap_slope.hpp"
#include "moments/pieces.hpp"

/// What a propagation notes down: sites and parameters in the numbers of its calculus, and the tape
/// that the way back reads from its end.
namespace scalecalc::moments {

template <class N>
struct SiteRecord {
  const std::string* path = nullptr;
  const char* suffix = "";
  const char* kind = "";
  std::int64_t width = 0, tokens = 0;
  Alike<N> x, gradient;
  Spread spread, grad_spread;
  bool has_grad_shift = false;  ///< grad_spread.shift tells of finite width
  Doubt error, truncation, grad_error, grad_truncation;
};

template <class N>
struct ParameterRecord {
  const std::string* path = nullptr;
  const char* suffix = "";
  std::int64_t rows = 0, columns = 0;
  N second{}, gradient{};
  NonNegative spread = 0, error = 0, truncation = 0;
  std::optional<double> grad_shift{};  ///< as in Spread
};

/// Indices of what is filled in on the way back.
struct Places {
  std::size_t site = 0, parameter = 0;
  std::int64_t tokens = 0;  ///< of the input
};
/// The input of a weight matrix.
template <class X>
struct WeightTape {
  Places at;
  X input;
  Spread spread;
  Doubt truncation;         ///< of the input
  OverlapStrays overlap{};  ///< of the input
};
template <class X>
struct ActivationTape {
  Places at;
  ActivationRecord<X> record;
  OverlapStrays overlap{};  ///< of u
  SlopeKernel kernel{};
  double error = 0;  ///< of the slopes, absolute
};
template <class X>
struct NormTape {
  Places at;
  NormRecord<X> record;
  Spread spread;
  Doubt truncation;         ///< of the input
  OverlapStrays overlap{};  ///< of the output
};
template <class X>
struct GatedTape {
  Places at, gate, in;
  GatedRecord<X> record;
  X input;
  Spread spread;
  Doubt truncation;         ///< of the input
  OverlapStrays overlap{};  ///< of the input
  SlopeKernel kernel{};     ///< of the gate
  double error = 0;
};
template <class C, class X>
struct AttentionTape {
  Places q, k, v, mix;
  AttentionRecord<C, X> record;
  Spread spread;
  Doubt truncation;  ///< of the input
};
/// Where a value has no site of its own.
inline constexpr std::size_t no_site = static_cast<std::size_t>(-1);
/// A place without parameters: dropout, pool.
struct PlainTape {
  Places at;
};
template <class X>
struct DropoutTape {
  Places at;
  Mixture before;
  X input;
};
template <class X>
struct SumTape {
  Places at;
  X branch;
  double stream_share = 1, branch_share = 0;  ///< of the sum's second
  bool after_activation = false;              ///< the stream
  MixedSum kinds;
  double stream_overlap = 1;  ///< what the stream's strays make of the sum's: the latter over it
};
/// The branch and the factors of the two streams' covariance (DualStream).
template <class X>
struct DualTape {
  Places at;
  X scale;
};
/// What a DualStream adds up at its end, and the mean product of the two.
template <class X>
struct DualSumTape {
  Places at;
  X post, dual, both;
};

/// Read from its end, which holds for the entries of each kind by themselves.
template <class C, class X>
class Tape {
 public:
  template <class Entry>
  void push(Entry entry) {
    std::get<Pieces<Entry>>(entries_).push(std::move(entry));
  }
  template <class Entry>
  Entry pop() {
    return std::get<Pieces<Entry>>(entries_).pop();
  }

 private:
  std::tuple<Pieces<WeightTape<X>>, Pieces<ActivationTape<X>>, Pieces<NormTape<X>>,
             Pieces<GatedTape<X>>, Pieces<AttentionTape<C, X>>, Pieces<PlainTape>,
             Pieces<DropoutTape<X>>, Pieces<SumTape<X>>, Pieces<DualTape<X>>,
             Pieces<DualSumTape<X>>>
      entries_;
};

}  // namespace scalecalc::moments
