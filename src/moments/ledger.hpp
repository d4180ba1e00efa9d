#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "moments/fluctuations.hpp"
#include "moments/pieces.hpp"
#include "moments/state.hpp"
#include "scalecalc/network.hpp"

/// What a propagation writes down: the records of its sites and parameters in the numbers of its
/// calculus, and what the forward step of each layer keeps for the backward step.
namespace scalecalc::moments {

/// What a site shows of a NormVariance.
struct ShownSpread {
  NonNegative batch_variance = 0;
  double mean_shift = 0, log_range = 0;
};
inline ShownSpread shown(const NormVariance& spread) {
  return {spread.batch_variance, spread.mean_shift, spread.log_range};
}

template <class N>
struct SiteRecord {
  const std::string* path = nullptr;
  const char* suffix = "";
  const char* kind = "";
  std::int64_t width = 0, tokens = 0;
  Alike<N> x, gradient;
  ShownSpread spread, grad_spread;
  bool has_grad_shift = false;  ///< grad_spread.mean_shift is known
  RelativeError error, truncation, grad_error, grad_truncation;
};

template <class N>
struct ParameterRecord {
  const std::string* path = nullptr;
  const char* suffix = "";
  std::int64_t rows = 0, columns = 0;
  N second{}, gradient{};
  NonNegative spread = 0, error = 0, truncation = 0;
  std::optional<double> grad_shift{};  ///< as in NormVariance
};

/// Indices of the records that a backward step fills in. Where a layer has a weight and a bias, or
/// a gain and a shift, the second follows the first.
struct Places {
  std::size_t site = 0, parameter = 0;
  std::int64_t tokens = 0;  ///< of the input
};
/// Records that are noted one after another.
struct RecordPlace {
  std::size_t site = 0, parameter = 0;
};
struct RecordRange {
  RecordPlace from, to;
};
/// Paths of layers, and those of others that are alike.
struct SamePaths {
  std::vector<std::pair<const std::string*, const std::string*>> pairs;
  const std::string* of(const std::string* path) const {
    for (const auto& [first, other] : pairs)
      if (first == path) return other;
    return path;
  }
};
/// Where a value has no site of its own.
inline constexpr std::size_t no_site = static_cast<std::size_t>(-1);

/// What the forward step of a layer of kind `Op` keeps for its backward step. Each kind
/// specialises it beside its steps, in layers/.
template <class Op, class C, class X>
struct Kept;

/// Last in, first out among the entries of each kind.
template <class C, class X, class Layers = decltype(Layer::op)>
class Tape;
template <class C, class X, class... Op>
class Tape<C, X, std::variant<Op...>> {
 public:
  template <class Kind>
  void push(Kept<Kind, C, X>&& entry) {
    std::get<Pieces<Kept<Kind, C, X>>>(entries_).push(std::move(entry));
  }
  template <class Kind>
  Kept<Kind, C, X>& pop() {
    return std::get<Pieces<Kept<Kind, C, X>>>(entries_).take();
  }

 private:
  std::tuple<Pieces<Kept<Op, C, X>>...> entries_;
};

template <class C, class X>
struct Ledger {
  using N = typename C::Number;
  Pieces<SiteRecord<N>> sites;
  NormVariance last_spread;  ///< at the last site so far
  Pieces<ParameterRecord<N>> parameters;
  Tape<C, X> tape;
};

}  // namespace scalecalc::moments
