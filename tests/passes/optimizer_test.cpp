#include "passes/optimizer.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "optimizer_reference.hpp"
#include "passes/support.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::passes {
namespace {

namespace ref = reference;
using MuonScale = OptimizerOptions::MuonScale;

ParameterInfo parameter(const std::string& role, std::int64_t rows, std::int64_t columns) {
  ParameterInfo info;
  info.role = role;
  info.rows = rows;
  info.columns = columns;
  info.is_matrix = rows > 1;
  return info;
}

/// Wide, tall and square matrices, a vector, and the two ends that Muon leaves to AdamW.
const std::vector<ParameterInfo> kParameters = {
    parameter("ffn_in", 3, 5), parameter("ffn_out", 6, 2),   parameter("o", 4, 4),
    parameter("norm", 1, 7),   parameter("embedding", 5, 3), parameter("head", 3, 4)};

/// Parameters and their gradients on a device, and steps on them.
template <class Real>
class Run {
 public:
  Run(const std::vector<ParameterInfo>& parameters, const OptimizerOptions& options,
      int threads = 1)
      : parameters_(parameters),
        device_(tensor::make_device<Real>("cpu", threads)),
        optimizer_(device_, parameters, options) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      theta_.push_back(upload(device_, rows(i), columns(i), values(i, 0)));
      gradient_.push_back(upload(device_, rows(i), columns(i), values(i, 0)));
    }
  }

  /// Standard normal: the parameters themselves for t = 0, else the gradients of step t.
  static Vector draw(const ParameterInfo& info, std::size_t index, int t) {
    Vector drawn = normal_values(static_cast<std::size_t>(info.rows * info.columns),
                                 100 * static_cast<std::uint64_t>(t) + index);
    for (double& x : drawn) x = static_cast<double>(static_cast<Real>(x));
    return drawn;
  }
  Vector values(std::size_t i, int t) const { return draw(parameters_[i], i, t); }

  void set(std::size_t i, const Vector& theta) { put(theta, theta_[i]); }
  void step(const std::vector<Vector>& gradients) {
    optimizer_.begin();
    double square = 0.0;
    for (std::size_t i = 0; i < theta_.size(); ++i) {
      put(gradients[i], gradient_[i]);
      optimizer_.prepare(gradient_[i]);
      square += device_->dot(gradient_[i].size(), gradient_[i].data(), gradient_[i].data());
    }
    for (std::size_t i = 0; i < theta_.size(); ++i) {
      optimizer_.apply(i, theta_[i], gradient_[i], std::sqrt(square));
    }
  }
  void step(int t) {
    std::vector<Vector> gradients;
    for (std::size_t i = 0; i < theta_.size(); ++i) gradients.push_back(values(i, t));
    step(gradients);
  }
  Vector theta(std::size_t i) const { return download(theta_[i]); }
  tensor::Device<Real>& device() { return *device_; }
  std::size_t state_bytes() const { return optimizer_.bytes(); }

 private:
  std::int64_t rows(std::size_t i) const { return parameters_[i].rows; }
  std::int64_t columns(std::size_t i) const { return parameters_[i].columns; }
  void put(const Vector& values, const tensor::Tensor<Real>& tensor) {
    const std::vector<Real> rounded(values.begin(), values.end());
    device_->upload(rounded.data(), tensor.data(), tensor.bytes());
  }

  std::vector<ParameterInfo> parameters_;
  std::shared_ptr<tensor::Device<Real>> device_;
  Optimizer<Real> optimizer_;
  std::vector<tensor::Tensor<Real>> theta_, gradient_;
};

constexpr int kSteps = 4;
/// Of a linear schedule with two steps of warm-up that would reach 0 at the sixth.
constexpr double kFactors[kSteps] = {0.5, 1.0, 0.75, 0.5};

/// The largest difference from the reference after some steps, in units of the largest entry that
/// took part times epsilon.
template <class Real>
double worst(OptimizerOptions options, const std::function<ref::Rule(std::size_t)>& rule_of) {
  options.schedule = {Schedule::Kind::linear, 2, 6, 0.0};
  Run<Real> run(kParameters, options);
  std::vector<ref::Matrix> theta;
  std::vector<ref::Kept> kept;
  for (std::size_t i = 0; i < kParameters.size(); ++i) {
    theta.push_back({kParameters[i].rows, kParameters[i].columns, run.values(i, 0)});
    kept.emplace_back(kParameters[i].rows, kParameters[i].columns);
  }
  double size = 1.0;
  for (int t = 1; t <= kSteps; ++t) {
    run.step(t);
    double square = 0.0;
    for (std::size_t i = 0; i < theta.size(); ++i) {
      square += dot(run.values(i, t), run.values(i, t));
    }
    const double eta = options.learning_rate * kFactors[t - 1];
    for (std::size_t i = 0; i < theta.size(); ++i) {
      const ref::Matrix before = theta[i];
      rule_of(i)(options, {static_cast<double>(t), eta, std::sqrt(square)}, theta[i],
                 {before.rows, before.columns, run.values(i, t)}, kept[i]);
      for (const double x : theta[i].entries) size = std::max(size, std::fabs(x));
      CHECK(distance(before.entries, theta[i].entries) > 0.0);
    }
  }
  double error = 0.0;
  for (std::size_t i = 0; i < theta.size(); ++i) {
    const Vector got = run.theta(i);
    for (std::size_t j = 0; j < got.size(); ++j) {
      error = std::max(error, std::fabs(got[j] - theta[i].entries[j]));
    }
  }
  return error / (size * static_cast<double>(std::numeric_limits<Real>::epsilon()));
}

template <class Real>
double worst(const OptimizerOptions& options, const ref::Rule& rule) {
  return worst<Real>(options, [&](std::size_t) { return rule; });
}

/// Rounding: an entry passes at most 16 operations a step that round values of the size of the step
/// or of theta, and sums over at most 15 entries, which enter by a norm.
constexpr double kRoundings = kSteps * (16.0 + 15.0);

/// Large steps and decays, so that a wrong term shows.
OptimizerOptions options_of(const std::string& name, double rate, double weight_decay) {
  OptimizerOptions options = optimizer_options(name);
  options.learning_rate = rate;
  options.weight_decay = weight_decay;
  return options;
}

void check_rule(const OptimizerOptions& options, const ref::Rule& rule) {
  CAPTURE(options.name);
  CHECK(worst<double>(options, rule) < kRoundings);
  CHECK(worst<float>(options, rule) < kRoundings);
}

}  // namespace

TEST_CASE("updates: each rule by entry is its paper's") {
  check_rule(options_of("sgd", 0.3, 0.1), ref::sgd);
  check_rule(options_of("momentum", 0.1, 0.1), [](auto& o, auto& s, auto& theta, auto& g, auto& k) {
    ref::momentum(o, s, theta, g, k, false);
  });
  check_rule(options_of("nesterov", 0.1, 0.1), [](auto& o, auto& s, auto& theta, auto& g, auto& k) {
    ref::momentum(o, s, theta, g, k, true);
  });
  check_rule(options_of("adam", 0.1, 0.2), ref::adam);
  check_rule(options_of("adamw", 0.1, 0.2), ref::adamw);
  check_rule(options_of("lion", 0.1, 0.2), ref::lion);
  for (const char* name : {"rmsprop", "adagrad"}) {
    const bool averages = std::string(name) == "rmsprop";
    check_rule(options_of(name, 0.1, 0.2),
               [averages](auto& o, auto& s, auto& theta, auto& g, auto& k) {
                 ref::over_root(o, s, theta, g, k, averages);
               });
  }
}

TEST_CASE("updates: each rule with a norm is its paper's") {
  check_rule(options_of("lamb", 0.1, 0.2), ref::lamb);
  OptimizerOptions lars = options_of("lars", 1.0, 0.2);
  lars.trust = 0.1;
  check_rule(lars, ref::lars);
  check_rule(options_of("ngd", 0.5, 0.2), ref::ngd);
  OptimizerOptions adafactor = options_of("adafactor", 0.1, 0.0);
  check_rule(adafactor, ref::adafactor);
  adafactor.clip_rms = 0.5;
  check_rule(adafactor, ref::adafactor);
  adafactor.relative_step = false;
  check_rule(adafactor, ref::adafactor);
}

TEST_CASE("updates: adafactor's decay follows its relative rate") {
  OptimizerOptions with = options_of("adafactor", 0.1, 0.5), without = with;
  without.weight_decay = 0.0;
  Run<double> decayed(kParameters, with), plain(kParameters, without);
  decayed.step(1);
  plain.step(1);
  const Vector theta = plain.values(0, 0), a = decayed.theta(0), b = plain.theta(0);
  for (std::size_t i = 0; i < theta.size(); ++i) {
    CHECK(std::fabs(b[i] - a[i] - 0.1 * 0.5 * theta[i]) <
          4.0 * std::numeric_limits<double>::epsilon() * (1.0 + std::fabs(theta[i])));
  }
}

TEST_CASE("updates: muon orthogonalises hidden matrices and leaves the rest to adamw") {
  // A step of the iteration multiplies an error by at most its slope at 0.
  const double roundings = kRoundings * std::pow(3.4445, 5.0);
  // sqrt(max(1, fan_out/fan_in)), 0.2 sqrt(max(fan_in, fan_out)), 1 for each hidden matrix.
  const double shape[] = {std::sqrt(5.0 / 3.0), 1.0, 1.0};
  const double match[] = {0.2 * std::sqrt(5.0), 0.2 * std::sqrt(6.0), 0.4};
  const double none[] = {1.0, 1.0, 1.0};
  for (const auto& [kind, factors] :
       {std::pair(MuonScale::shape, shape), std::pair(MuonScale::match_rms, match),
        std::pair(MuonScale::none, none)}) {
    OptimizerOptions options = options_of("muon", 0.1, 0.2);
    options.adamw_learning_rate = 0.05;
    options.muon_scale = kind;
    options.nesterov = kind != MuonScale::none;
    const auto rule_of = [&, factors = factors](std::size_t i) -> ref::Rule {
      if (i < 3) {
        return [factor = factors[i]](auto& o, auto& s, auto& theta, auto& g, auto& kept) {
          ref::muon(o, s, theta, g, kept, factor);
        };
      }
      return [](auto& o, auto s, auto& theta, auto& g, auto& kept) {
        s.eta *= 0.05 / 0.1;
        ref::adamw(o, s, theta, g, kept);
      };
    };
    CHECK(worst<double>(options, rule_of) < roundings);
    CHECK(worst<float>(options, rule_of) < roundings);
  }
}

TEST_CASE("updates: factors of one parameter are its own options, and nobody else's") {
  std::vector<ParameterInfo> named = kParameters;
  for (ParameterInfo& info : named) info.path = info.role;
  // Powers of two: the same bits.
  const auto stepped = [&](const OptimizerOptions& options) {
    Run<double> run(named, options);
    for (int t = 1; t <= 3; ++t) run.step(t);
    std::vector<Vector> theta;
    for (std::size_t i = 0; i < named.size(); ++i) theta.push_back(run.theta(i));
    return theta;
  };
  for (const std::string& name : optimizer_names()) {
    for (const char* of : {"learning_rate", "weight_decay", "eps"}) {
      CAPTURE(name);
      CAPTURE(of);
      OptimizerOptions plain = optimizer_options(name);
      plain.weight_decay = 0.25;
      OptimizerOptions changed = plain;
      ParameterFactors factors;
      const std::string quantity = of;
      if (quantity == "learning_rate") {
        factors.learning_rate = 2;
        changed.learning_rate *= 2;
        changed.adamw_learning_rate *= 2;
      } else if (quantity == "weight_decay") {
        factors.weight_decay = 2;
        changed.weight_decay *= 2;
      } else {
        factors.eps = plain.eps = changed.eps = 0.25;
        plain.eps_square = changed.eps_square = 0.25;
        changed.eps *= factors.eps;
        changed.eps_square *= factors.eps;
      }
      const std::vector<Vector> without = stepped(plain), with = stepped(changed);
      for (std::size_t i = 0; i < named.size(); ++i) {
        OptimizerOptions own = plain;
        own.factors[named[i].path] = factors;
        const std::vector<Vector> got = stepped(own);
        for (std::size_t j = 0; j < named.size(); ++j)
          CHECK(got[j] == (i == j ? with[j] : without[j]));
        if (quantity != "eps") CHECK(got[i] != without[i]);
      }
    }
  }
}

TEST_CASE("updates: factors out of range are refused with the parameter") {
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  for (const ParameterFactors& factors :
       {ParameterFactors{-1, 1, 1}, ParameterFactors{no_number, 1, 1}, ParameterFactors{1, -1, 1},
        ParameterFactors{1, 1, 0}, ParameterFactors{1, 1, no_number}}) {
    OptimizerOptions options = optimizer_options("adam");
    options.factors["head.weight"] = factors;
    CHECK_THROWS_WITH_AS(validate(options), doctest::Contains("head.weight"), Error);
  }
}

TEST_CASE("updates: the same bits for any number of threads") {
  // Several tiles of every primitive, none of them full.
  const std::vector<ParameterInfo> large = {parameter("ffn_in", 290, 310),
                                            parameter("norm", 1, 40000)};
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    Run<float> one(large, optimizer_options(name), 1), three(large, optimizer_options(name), 3);
    for (int t = 1; t <= 2; ++t) {
      one.step(t);
      three.step(t);
    }
    for (std::size_t i = 0; i < large.size(); ++i) CHECK(one.theta(i) == three.theta(i));
  }
}

TEST_CASE("updates: steps allocate nothing") {
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    Run<double> run(kParameters, optimizer_options(name));
    const std::size_t held = run.device().bytes_held(), used = run.device().bytes_in_use();
    for (int t = 1; t <= 3; ++t) run.step(t);
    CHECK(run.device().bytes_held() == held);
    CHECK(run.device().bytes_in_use() == used);
  }
}

TEST_CASE("updates: what each rule keeps") {
  const std::vector<ParameterInfo> matrix = {parameter("ffn_in", 30, 50)};
  const auto bytes = [&](const char* name) {
    return Run<float>(matrix, optimizer_options(name)).state_bytes() / sizeof(float);
  };
  CHECK(bytes("sgd") == 0);
  CHECK(bytes("ngd") == 0);
  for (const char* name : {"momentum", "nesterov", "lion", "lars", "rmsprop", "adagrad"})
    CHECK(bytes(name) == 1500);
  for (const char* name : {"adam", "adamw", "lamb"}) CHECK(bytes(name) == 3000);
  CHECK(bytes("adafactor") == 80);
  CHECK(bytes("muon") == 1500 + 1500 + 3 * 900);
}

TEST_CASE("updates: clipping by norm scales all gradients together") {
  std::vector<Vector> gradients;
  double square = 0.0;
  for (std::size_t i = 0; i < kParameters.size(); ++i) {
    gradients.push_back(Run<double>::draw(kParameters[i], i, 1));
    square += dot(gradients.back(), gradients.back());
  }
  const double eps = std::numeric_limits<double>::epsilon();
  for (const double share : {0.25, 1.5}) {
    OptimizerOptions options = options_of("sgd", 1.0, 0.0);
    options.clip_norm = share * std::sqrt(square);
    Run<double> run(kParameters, options);
    run.step(gradients);
    for (std::size_t i = 0; i < kParameters.size(); ++i) {
      const Vector before = run.values(i, 0), after = run.theta(i);
      for (std::size_t j = 0; j < before.size(); ++j) {
        const double expected = before[j] - std::min(1.0, share) * gradients[i][j];
        // The norm sums 71 squares.
        CHECK(std::fabs(after[j] - expected) < 80.0 * eps * (1.0 + std::fabs(gradients[i][j])));
      }
    }
  }
}

TEST_CASE("updates: clipping by norm does not change a normalised step") {
  OptimizerOptions clipped = options_of("ngd", 0.5, 0.0);
  clipped.clip_norm = 0.125;
  Run<double> with(kParameters, clipped), without(kParameters, options_of("ngd", 0.5, 0.0));
  with.step(1);
  without.step(1);
  CHECK(distance(with.theta(0), without.theta(0)) <
        8.0 * std::numeric_limits<double>::epsilon() * norm(without.theta(0)));
}

TEST_CASE("updates: clipping by value clamps entries") {
  OptimizerOptions options = options_of("sgd", 1.0, 0.0);
  options.clip_value = 0.5;
  Run<double> run(kParameters, options);
  run.step(1);
  for (std::size_t i = 0; i < kParameters.size(); ++i) {
    const Vector before = run.values(i, 0), g = run.values(i, 1), after = run.theta(i);
    for (std::size_t j = 0; j < before.size(); ++j) {
      CHECK(after[j] == before[j] - std::clamp(g[j], -0.5, 0.5));
    }
  }
}

TEST_CASE("updates: zero gradients and zero parameters are no trouble") {
  std::vector<Vector> none, some;
  for (std::size_t i = 0; i < kParameters.size(); ++i) {
    some.push_back(Run<double>::draw(kParameters[i], i, 1));
    none.emplace_back(some.back().size(), 0.0);
  }
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    OptimizerOptions options = optimizer_options(name);
    options.weight_decay = 0.0;
    Run<double> still(kParameters, options), from_zero(kParameters, options);
    still.step(none);
    for (std::size_t i = 0; i < none.size(); ++i) {
      CHECK(still.theta(i) == still.values(i, 0));
      from_zero.set(i, none[i]);
    }
    from_zero.step(some);
    for (std::size_t i = 0; i < none.size(); ++i) {
      const double moved = norm(from_zero.theta(i));
      CHECK(std::isfinite(moved));
      CHECK(moved > 0.0);
    }
  }
}

TEST_CASE("updates: a gradient that is not a number stays visible") {
  for (const std::string& name : optimizer_names()) {
    CAPTURE(name);
    Run<double> run(kParameters, optimizer_options(name));
    std::vector<Vector> gradients;
    for (std::size_t i = 0; i < kParameters.size(); ++i) gradients.push_back(run.values(i, 1));
    gradients[0][3] = NAN;
    run.step(gradients);
    CHECK(std::isnan(run.theta(0)[3]));
  }
}

}  // namespace scalecalc::passes
