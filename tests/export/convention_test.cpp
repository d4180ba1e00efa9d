#include "scalecalc/conventions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "scalecalc/error.hpp"

namespace scalecalc {
namespace {

using Shape = std::vector<std::int64_t>;

// Sums of a few products of doubles: a few units in the last place.
constexpr double rounding = 4e-15;

Convention read(const std::string& line, Shape shape = {}, const std::string& layer = "",
                std::int64_t groups = 1, std::int64_t stride = 1) {
  return convention({line, std::move(shape), layer, groups, stride, ""});
}
const ConventionParameter& weights(const Convention& answer) {
  return answer.parameters.front();
}
bool near(double value, double expected, double relative = rounding) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}

/// Moments of a standard normal on [low, high] by Simpson's rule; its error is about h^4.
struct Moments {
  double mean, std;
};
Moments integrated(double low, double high) {
  constexpr int steps = 20000;
  const double h = (high - low) / steps;
  double mass = 0, first = 0, second = 0;
  for (int k = 0; k <= steps; ++k) {
    const double x = low + h * k;
    const double w = (k == 0 || k == steps ? 1 : k % 2 == 1 ? 4 : 2) * std::exp(-x * x / 2);
    mass += w;
    first += w * x;
    second += w * x * x;
  }
  const double mean = first / mass;
  return {mean, std::sqrt(second / mass - mean * mean)};
}
constexpr double simpson = 1e-11;  ///< h^4 of a fourth derivative, and 2e4 roundings

bool notes_say(const Convention& answer, const std::string& text) {
  for (const std::string& note : answer.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("torch's default layers are uniform between the inverse roots of the fan") {
  const Convention linear = read("torch.nn.Linear(256, 1024)");
  CHECK(linear.framework == "pytorch");
  CHECK(weights(linear).shape == Shape{1024, 256});
  CHECK(weights(linear).distribution == "uniform");
  CHECK(near(weights(linear).bounds->second, 1.0 / 16));
  CHECK(near(weights(linear).std, 1 / std::sqrt(3.0 * 256)));
  CHECK(weights(linear).formula == "(3*fan_in)^(-1/2)");
  CHECK(near(*weights(linear).output_second, 1.0 / 3));
  REQUIRE(linear.parameters.size() == 2);
  CHECK(linear.parameters[1].name == "bias");
  CHECK(linear.parameters[1].bounds == weights(linear).bounds);

  const Convention direct = read("nn.init.kaiming_uniform_(w, a=math.sqrt(5))", {1024, 256});
  CHECK(near(weights(direct).std, weights(linear).std));
  CHECK(read("nn.Linear(256, 1024, bias=False)").parameters.size() == 1);
}

TEST_CASE("a truncated normal has the moments of the integral") {
  for (const auto& [low, high] :
       {std::pair{-0.04, 0.04}, {-0.06, 0.06}, {-0.01, 0.05}, {0.02, 0.08}}) {
    const std::string line = "torch.nn.init.trunc_normal_(w, std=0.02, a=" + std::to_string(low) +
                             ", b=" + std::to_string(high) + ")";
    const ConventionParameter found = weights(read(line));
    const Moments expected = integrated(low / 0.02, high / 0.02);
    CAPTURE(line);
    CHECK(near(found.std, 0.02 * expected.std, simpson));
    CHECK(std::fabs(found.mean / 0.02 - expected.mean) < simpson);
    CHECK(near(found.bounds->first, low));
    CHECK(near(found.bounds->second, high));
  }
  const ConventionParameter shifted =
      weights(read("torch.nn.init.trunc_normal_(w, mean=0.5, std=0.25, a=0.25, b=2)"));
  const Moments expected = integrated(-1, 6);
  CHECK(near(shifted.mean, 0.5 + 0.25 * expected.mean, simpson));
  CHECK(near(shifted.std, 0.25 * expected.std, simpson));
}

TEST_CASE("absolute bounds a hundred standard deviations away cut nothing") {
  const Convention absolute = read("torch.nn.init.trunc_normal_(w, std=0.02)");
  CHECK(weights(absolute).std == 0.02);
  CHECK(notes_say(absolute, "100 standard deviations"));
  const Convention relative = read("trunc_normal_tf_(w, std=0.02)");
  CHECK(relative.framework == "timm");
  CHECK(near(weights(relative).std, 0.02 * integrated(-2, 2).std, simpson));
  CHECK(near(weights(relative).bounds->second, 0.04));
  CHECK(near(weights(read("timm.layers.trunc_normal_(w, std=0.02)")).std, 0.02));
}

TEST_CASE("JAX, Keras and timm divide by the standard deviation of the cut") {
  for (const char* line : {"jax.nn.initializers.he_normal()", "keras.initializers.HeNormal()",
                           "HeNormal()", "variance_scaling(2.0, 'fan_in', 'truncated_normal')",
                           "tf.keras.initializers.VarianceScaling(scale=2.0)"}) {
    CAPTURE(line);
    const ConventionParameter found = weights(read(line, {1024, 256}));
    CHECK(found.distribution == "truncated_normal");
    CHECK(near(found.std, std::sqrt(2.0 / 1024)));
    CHECK(near(found.truncation->std_ratio, 0.87962566103423978));
    CHECK(near(found.bounds->second, 2 * found.std / 0.87962566103423978));
    CHECK(found.truncation->corrected);
  }
  // |w|^2 of a complex normal of variance 1, cut at 4, by the sum of a fine grid.
  double mass = 0, second = 0;
  constexpr int steps = 200000;
  for (int k = 0; k < steps; ++k) {
    const double s = 4 * (k + 0.5) / steps;
    mass += std::exp(-s);
    second += s * std::exp(-s);
  }
  const ConventionParameter complex =
      weights(read("jax.nn.initializers.lecun_normal(dtype=jnp.complex64)", {1024, 256}));
  CHECK(near(complex.truncation->std_ratio, std::sqrt(second / mass), 1e-10));  // midpoint rule;
  // The published divisor is not that ratio; it was integrated numerically, to 1e-13.
  const double divisor = 0.95311164380491208;
  CHECK(near(complex.std, complex.truncation->std_ratio / divisor / 32, 1e-12));
  CHECK(near(complex.bounds->second, 2 / divisor / 32, 1e-12));
}

TEST_CASE("what is not corrected is smaller than it says") {
  const double ratio = integrated(-2, 2).std;
  for (const char* line : {"keras.initializers.TruncatedNormal(stddev=0.02)",
                           "jax.nn.initializers.truncated_normal(0.02)",
                           "tf.random.truncated_normal((4, 4), stddev=0.02)"}) {
    CAPTURE(line);
    CHECK(near(weights(read(line)).std, 0.02 * ratio, simpson));
  }
}

TEST_CASE("fans as counted and as they are") {
  const Convention grouped = read("nn.Conv2d(64, 128, 3, groups=4)");
  CHECK(*weights(grouped).fan_in == 144);
  CHECK(*weights(grouped).true_fan_in == 144);
  CHECK(*weights(grouped).fan_out == 1152);
  CHECK(*weights(grouped).true_fan_out == 288);

  const Convention back = read("nn.init.kaiming_normal_(w, mode='fan_out', nonlinearity='relu')",
                               {128, 16, 3, 3}, "conv", 4, 2);
  CHECK(near(weights(back).std, std::sqrt(2.0 / 1152)));
  CHECK(near(*weights(back).std_true_fan, std::sqrt(2.0 / (1152 / 16.0))));
  CHECK(notes_say(back, "fan_out is counted as 1152 and is 72"));

  const Convention transposed = read("nn.ConvTranspose2d(64, 128, 4, stride=2)");
  CHECK(weights(transposed).shape == Shape{64, 128, 4, 4});
  CHECK(*weights(transposed).fan_in == 2048);
  CHECK(*weights(transposed).true_fan_in == 256);

  const Convention keras = read("keras.layers.Conv2DTranspose(128, 4, strides=2)", {4, 4, 128, 64});
  CHECK(*weights(keras).fan_in == 2048);
  CHECK(*weights(keras).true_fan_in == 256);
  CHECK(*weights(keras).true_fan_out == 2048);

  const Convention mlx = read("mlx.nn.Conv2d(64, 128, 3, groups=4)");
  CHECK(near(*weights(mlx).std_true_fan / weights(mlx).std, 2));

  const Convention depthwise = read("keras.layers.DepthwiseConv2D(3)", {3, 3, 64, 1});
  CHECK(*weights(depthwise).fan_in == 576);
  CHECK(*weights(depthwise).true_fan_in == 9);
}

TEST_CASE("packed q, k, v get half the variance of separate ones") {
  const Convention packed = read("torch.nn.MultiheadAttention(768, 12)");
  CHECK(weights(packed).shape == Shape{2304, 768});
  CHECK(near(weights(packed).variance, 2.0 / (4 * 768)));
  CHECK(near(*weights(packed).std_true_fan, std::sqrt(2.0 / (2 * 768))));
  CHECK(packed.parameters.size() == 4);
  const Convention named = read("nn.init.xavier_uniform_(self.qkv.weight)", {2304, 768});
  CHECK(named.layer == "qkv");
  CHECK(near(weights(named).std, weights(packed).std));
  const Convention plain = read("nn.init.xavier_uniform_(w)", {2304, 768});
  CHECK(plain.layer == "linear");
  CHECK(notes_say(plain, "--layer qkv"));
  const Convention apart = read("torch.nn.MultiheadAttention(768, 12, kdim=256, vdim=512)");
  CHECK(near(apart.parameters[1].variance, 2.0 / (768 + 256)));
  CHECK(near(apart.parameters[2].variance, 2.0 / (768 + 512)));
}

TEST_CASE("attention kernels: Keras counts them as convolutions unless axes are named") {
  const Convention plain = read("keras.initializers.GlorotUniform()", {768, 12, 64}, "attention");
  CHECK(near(weights(plain).variance, 2.0 / (768 * 12 + 768 * 64)));
  CHECK(near(*weights(plain).std_true_fan, std::sqrt(2.0 / (768 + 768))));
  const Convention named =
      read("keras.initializers.GlorotUniform(input_axes=[0], output_axes=[1, 2])", {768, 12, 64},
           "attention");
  CHECK(near(weights(named).variance, 2.0 / (768 + 768)));
  const Convention answer =
      read("keras.layers.MultiHeadAttention(num_heads=12, key_dim=64)", {768, 12, 64});
  CHECK(near(weights(answer).variance, 2.0 / (768 + 768)));
  CHECK(near(*weights(answer).std_true_fan, weights(answer).std));
  CHECK(notes_say(answer, "std 0.005853661"));
  CHECK(answer.parameters[1].shape == Shape{12, 64, 768});
  CHECK(near(answer.parameters[1].variance, 2.0 / (768 + 768)));
  CHECK(near(*answer.parameters[1].output_second, 1));
  const Convention jax =
      read("jax.nn.initializers.lecun_normal(in_axis=0, out_axis=(1, 2))(key, (768, 12, 64))", {},
           "attention");
  CHECK(near(weights(jax).std, 1 / std::sqrt(768.0)));
  CHECK(near(*weights(jax).std_true_fan, weights(jax).std));
}

TEST_CASE("embeddings") {
  CHECK(weights(read("nn.Embedding(50257, 768)")).std == 1);
  CHECK(near(weights(read("flax.linen.Embed(50257, 768)")).std, 1 / std::sqrt(768.0)));
  CHECK(near(weights(read("mlx.nn.Embedding(50257, 768)")).std, 1 / std::sqrt(768.0)));
  CHECK(near(weights(read("keras.layers.Embedding(50257, 768)")).std, 0.05 / std::sqrt(3.0)));
  CHECK(near(*weights(read("nn.Embedding(50257, 768)")).output_second, 1));
}

TEST_CASE("what fills with few values has the moments of its entries") {
  const auto moments = [](const Shape& shape, double ones) {
    double count = 1;
    for (const std::int64_t size : shape) count *= static_cast<double>(size);
    return std::pair{ones / count, std::sqrt(ones / count - ones * ones / count / count)};
  };
  const ConventionParameter eye = weights(read("nn.init.eye_(w)", {100, 40}));
  CHECK(near(eye.mean, moments({100, 40}, 40).first));
  CHECK(near(eye.std, moments({100, 40}, 40).second));
  const ConventionParameter dirac = weights(read("nn.init.dirac_(w, 2)", {64, 16, 3, 3}));
  CHECK(near(dirac.mean, moments({64, 16, 3, 3}, 32).first));
  CHECK(near(dirac.std, moments({64, 16, 3, 3}, 32).second));
  const ConventionParameter sparse = weights(read("nn.init.sparse_(w, 0.1)", {15, 8}));
  CHECK(near(sparse.std, 0.01 * std::sqrt(13.0 / 15)));
  const ConventionParameter orthogonal =
      weights(read("nn.init.orthogonal_(w, gain=2)", {64, 32, 3, 3}));
  CHECK(near(orthogonal.std, 2 / std::sqrt(288.0)));
  const ConventionParameter ones = weights(read("nn.init.constant_(w, -0.5)"));
  CHECK(ones.mean == -0.5);
  CHECK(ones.std == 0);
  CHECK(ones.second == 0.25);
}

TEST_CASE("the line gives the shape where it can, and must not contradict") {
  CHECK(weights(read("jax.nn.initializers.he_normal()(key, (512, 128), jnp.float32)")).shape ==
        Shape{512, 128});
  CHECK(near(weights(read("torch.nn.init.kaiming_normal_(torch.empty(128, 512))")).std,
             std::sqrt(2.0 / 512)));
  CHECK(near(weights(read("w = torch.randn(128, 512) / 512**0.5  # scaled")).std,
             1 / std::sqrt(512.0)));
  CHECK(near(weights(read("0.02 * np.random.randn(128, 512)")).std, 0.02));
  CHECK_THROWS_AS(read("nn.Linear(256, 1024)", {256, 1024}), const Error&);
  CHECK_THROWS_AS(read("keras.layers.Dense(256)", {256, 1024}), const Error&);
  CHECK_THROWS_AS(read("nn.Conv2d(64, 128, 3, groups=4)", {}, "", 2), const Error&);
  CHECK_THROWS_AS(read("nn.Conv2d(64, 128, 3, stride=2)", {}, "", 1, 3), const Error&);
  CHECK_THROWS_AS(read("nn.Linear(256, 1024)", {}, "conv"), const Error&);
  CHECK_THROWS_AS(read("xavier_uniform_(w)"), const Error&);
}

TEST_CASE("the framework is found, asked for, and said") {
  CHECK(read("he_normal()", {64, 64}).framework == "jax");
  CHECK(notes_say(read("he_normal()", {64, 64}), "mlx.nn.init.he_normal"));
  CHECK(convention({"he_normal()", {64, 64}, "", 1, 1, "mlx"}).framework == "mlx");
  CHECK(near(weights(convention({"he_normal()", {64, 64}, "", 1, 1, "mlx"})).std, 1.0 / 8));
  CHECK(read("self.weight.data.normal_(mean=0.0, std=0.02)").function == "torch.Tensor.normal_");
  CHECK(read("nn.init.normal_(w, std=0.02)").function == "torch.nn.init.normal_");
  CHECK(read("tf.keras.layers.Conv1D(8, 3)", {3, 4, 8}).framework == "keras");
  CHECK(read("transformers.Conv1D(2304, 768)").framework == "transformers");
}

TEST_CASE("initialisers of layers") {
  CHECK(near(
      weights(read("keras.layers.Dense(256, kernel_initializer='he_normal')", {1024, 256})).std,
      std::sqrt(2.0 / 1024)));
  CHECK(near(weights(read("keras.layers.Dense(8, "
                          "kernel_initializer=keras.initializers.RandomNormal(stddev=0.5))",
                          {16, 8}))
                 .std,
             0.5));
  CHECK(near(weights(read("nn.Dense(8, kernel_init=nn.initializers.normal(0.02))", {16, 8})).std,
             0.02));
}

TEST_CASE("every example of the catalogue is derived") {
  CHECK(convention_examples().size() >= 90);
  for (const ConventionExample& example : convention_examples()) {
    CAPTURE(example.request.line);
    const Convention answer = convention(example.request);
    const ConventionParameter& found = weights(answer);
    CHECK(std::isfinite(found.std));
    CHECK(found.std >= 0);
    CHECK(near(found.second, found.mean * found.mean + found.std * found.std));
    if (found.bounds) {
      CHECK(found.bounds->first <= found.mean);
      CHECK(found.mean <= found.bounds->second);
      const double widest = (found.bounds->second - found.bounds->first) / 2;
      CHECK(found.std <= widest * (1 + rounding) + (found.distribution[0] == 'c' ? widest : 0));
    }
  }
}

}  // namespace
}  // namespace scalecalc
