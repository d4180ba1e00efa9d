#include "gaussian/quadrature/digits.hpp"
#include "gaussian/quadrature/existence.hpp"
#include "gaussian/quadrature/moment_kind.hpp"
#include "gaussian/quadrature/one_dimension.hpp"
#include "gaussian/quadrature/pair.hpp"

namespace scalecalc {
namespace {

using namespace gaussian::quadrature;

std::size_t channel_of(Moment moment) {
  switch (moment) {
    case Moment::mean: return 0;
    case Moment::second: return 1;
    case Moment::slope_mean: return 2;
    case Moment::slope_second: return 3;
    default: return 4;
  }
}

}  // namespace

Estimate quadrature(const Activation& activation, Moment moment, const GaussianInput& input) {
  check_input(input, moment);
  const Profile& profile = profile_of(activation);
  check_existence(profile, moment, input);
  if (input.variance == 0) return point_moment(activation, moment, input);
  if (is_pair(moment)) {
    if (*input.correlation == 1) return quadrature(activation, square_of(moment), input);
    if (const auto value = pair_in_double(profile, moment, input)) return *value;
  } else if (const auto values = moments_in_double(profile, input)) {
    return (*values)[channel_of(moment)];
  }
  return exact_estimate(profile, moment, input);
}

}  // namespace scalecalc
