#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scaling/gains/fixed_points.hpp"

namespace scalecalc {
namespace {

using namespace gains_room;

/// What is shipped for one activation ("" for any): formula of the gain, and where it comes from.
struct Row {
  const char *activation, *framework, *function, *formula, *origin;
};

constexpr char shaped_only[] = "the default looks at the shape of the weights alone";
constexpr Row rows[] = {
    {"identity", "pytorch", "torch.nn.init.calculate_gain('linear')", "1", "exact"},
    {"sigmoid", "pytorch", "torch.nn.init.calculate_gain('sigmoid')", "1",
     "1 stands for no recommendation: nothing was solved"},
    {"tanh", "pytorch", "torch.nn.init.calculate_gain('tanh')", "5/3",
     "5/3 comes without a derivation; it is larger than what q = 1 needs"},
    {"relu", "pytorch", "torch.nn.init.calculate_gain('relu')", "2^(1/2)", "exact"},
    {"leaky_relu", "pytorch", "torch.nn.init.calculate_gain('leaky_relu', 0.01)",
     "(2/(1 + 0.01^2))^(1/2)", "exact"},
    {"selu", "pytorch", "torch.nn.init.calculate_gain('selu')", "3/4",
     "3/4 was found by trial; selu's own fixed point (E = 0, E^2 = 1) needs 1"},
    {"", "pytorch", "torch.nn.Linear default: kaiming_uniform_(a=sqrt(5))", "3^(-1/2)",
     "U(+-1/sqrt(fan_in)) has variance 1/(3 fan_in), whatever follows"},
    {"relu", "jax", "jax.nn.initializers.he_normal()", "2^(1/2)", "exact"},
    {"selu", "jax", "jax.nn.initializers.lecun_normal()", "1", "exact"},
    {"", "flax", "flax.linen.Dense default: lecun_normal()", "1", shaped_only},
    {"relu", "keras", "keras.initializers.HeNormal()", "2^(1/2)", "exact"},
    {"selu", "keras", "keras.initializers.LecunNormal()", "1", "exact"},
    {"", "keras", "keras.layers.Dense default: GlorotUniform(), square matrix", "1", shaped_only},
    {"relu", "mlx", "mlx.nn.init.he_normal(), gain=1.0", "1",
     "he_normal there is gain/sqrt(fan) with gain 1 by default: the factor sqrt(2) is left to the "
     "caller"},
    {"", "mlx", "mlx.nn.Linear default: uniform(+-sqrt(1/fan_in))", "3^(-1/2)",
     "U(+-1/sqrt(fan_in)) has variance 1/(3 fan_in), whatever follows"},
};

/// Where a deep plain stack with this gain and no bias ends.
void settle(const SecondMap& map, FrameworkGain& gain, std::string& fate) {
  try {
    const FixedPoint point = fixed_points(map, gain.value * gain.value, 0).front();
    gain.settles_second = point.activation_second;
    gain.chi = point.chi;
    if (!point.reached) {
      fate = point.note;
    } else if (point.q_star.value == 0) {
      fate = point.chi < 1
                 ? fmt::format("a stack vanishes: {:.4g} of E phi^2 is left by a layer", point.chi)
                 : "a stack vanishes, as a power of depth";
    } else if (!point.note.empty()) {
      fate = "every second moment is kept";
    } else {
      fate = fmt::format("a stack settles at E phi^2 = {:.4g} with chi = {:.4g}",
                         point.activation_second, point.chi);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsolvable) throw;
    gain.settles_second = std::numeric_limits<double>::infinity();
    gain.chi = std::numeric_limits<double>::quiet_NaN();
    fate = error.message();
  }
}

}  // namespace

std::vector<FrameworkGain> framework_gains(const std::string& activation_name) {
  const std::vector<std::string> names = activation_names();
  if (std::find(names.begin(), names.end(), activation_name) == names.end()) return {};
  const std::string name = activation(activation_name).name;
  const SecondMap map(Activation::named(name));
  const double second = map.second(1);
  std::vector<FrameworkGain> list;
  for (const Row& row : rows) {
    if (row.activation[0] != '\0' && row.activation != name) continue;
    FrameworkGain gain;
    gain.framework = row.framework;
    gain.function = row.function;
    gain.formula = row.formula;
    gain.value = evaluate(parse(row.formula));
    gain.derived = 1 / std::sqrt(second);
    std::string fate;
    settle(map, gain, fate);
    gain.why = std::string(row.origin) + "; " + fate;
    list.push_back(std::move(gain));
  }
  return list;
}

}  // namespace scalecalc
