#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moments/interpolation.hpp"
#include "moments/known_pairs.hpp"
#include "moments/series_table.hpp"
#include "moments/width_moments.hpp"
#include "scalecalc/activation.hpp"
#include "scalecalc/gaussian.hpp"

namespace scalecalc::moments {

/// One activation's moments along a network: what belongs to one (mean, variance) is made once and
/// kept for a while; where the variance never repeats, pairs are interpolated in its logarithm.
class GaussianFunction {
 public:
  explicit GaussianFunction(const std::string& function);

  const Activation& activation() const { return activation_; }
  Estimate expectation(Moment moment, double mean, double variance);
  Estimate pair(Moment moment, double mean, double variance, double correlation);
  const WidthMoments& width(double mean, double variance);

 private:
  /// A formula near c = 1, where it cancels and needs many digits, as a polynomial in acos(c).
  struct NearOne {
    int asked = 0;
    ChebyshevPoints angles;
    std::vector<double> values;
    double error = 0;
  };
  struct AtInput {
    double mean = 0, variance = 0;
    std::optional<Moments1D> line;
    std::map<Moment, Estimate> single;
    std::optional<PairFunction> cross, slope_cross;
    NearOne near_cross, near_slope;
    std::map<Moment, int> asked_beyond;  ///< the Hermite series of a pair
    const std::optional<PairFunction>& pair(Moment moment) const {
      return moment == Moment::cross ? cross : slope_cross;
    }
  };
  /// Pair functions at points of ln(variance).
  struct Panel {
    ChebyshevPoints places;
    std::vector<PairFunction> functions;  ///< of a pair
    SeriesTable series;                   ///< of these
    std::vector<Estimate> values;         ///< of a moment of one
    int asked_beyond = 0;                 ///< the Hermite series of a pair
  };

  /// A pair that was asked for: rules ask for the same few again within a layer.
  struct Asked {
    Moment moment = Moment::cross;
    double mean = 0, variance = 0, correlation = 2;
    Estimate found;
  };
  /// The pair, by `compute` where it has not been found lately.
  template <class Compute>
  const Estimate& lately(Moment moment, double mean, double variance, double correlation,
                         const Compute& compute);

  struct AtWidth {
    double mean = 0, variance = 0;
    WidthMoments moments;
  };

  AtInput* find(double mean, double variance);
  AtInput& at(double mean, double variance);
  const PairFunction& pair_at(AtInput& input, Moment moment) const;
  const ClosedFormFunction* formula(Moment moment, double variance);
  std::optional<Estimate> by_formula(Moment moment, double variance, double correlation);
  /// Wandering: many variances near this one have been asked for.
  bool wanders(double mean, double variance);
  Estimate by_panel(Moment moment, double variance);
  Estimate by_panel(Moment moment, double variance, double correlation);
  Estimate from_panel(Moment moment, double variance, double correlation);
  Panel& panel(Moment moment, double variance);

  Activation activation_;
  std::deque<AtInput> kept_;
  std::deque<AtWidth> widths_;
  AtInput* last_ = nullptr;
  std::map<long, int> misses_;                ///< by the panel that the variance is in
  std::array<double, 2> wandering_ = {0, 0};  ///< a panel's variances, where they wander
  std::map<Moment, std::optional<ClosedFormFunction>> formulas_;
  std::map<std::pair<Moment, long>, Panel> panels_;
  KnownPairs known_pairs_;  ///< by panels: experts and branches that read one stream ask again
  std::array<Asked, 8> asked_;
  std::size_t next_asked_ = 0;
};

/// Throws Error(input): of what so large a moment is, at a path where that is known.
[[noreturn]] void throw_exploding(const std::string& what, const std::string& path = {});

/// A name of the registry, or an expression in x.
Activation activation_of(const std::string& function);

}  // namespace scalecalc::moments
