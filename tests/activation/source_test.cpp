#include "activation/source.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "temporary_folder.hpp"

using namespace scalecalc;

namespace {

/// phi_value_0 and the like, which the preprocessor does not rename, made unlike those of others.
std::string with_numbered_pieces(std::string source, const std::string& number) {
  for (const std::string piece : {"phi_value_", "phi_slope_"}) {
    for (std::size_t at = 0; (at = source.find(piece, at)) != std::string::npos;) {
      source.insert(at, "of" + number + "_");
      at += piece.size() + number.size() + 3;
    }
  }
  return source;
}

/// The functions of some activations, compiled by the C compiler and loaded.
class Compiled {
 public:
  explicit Compiled(const std::vector<Activation>& activations) {
    std::ofstream file(folder_ / "phi.c");
    file << "#include <math.h>\n";
    for (std::size_t k = 0; k < activations.size(); ++k) {
      // Each with names of its own.
      const std::string number = std::to_string(k);
      file << "#define phi_value value" << number << "\n#define phi_slope slope" << number << "\n"
           << with_numbered_pieces(c_source(activations[k], ""), number)
           << "#undef phi_value\n#undef phi_slope\n";
    }
    file.close();
    const std::string library = folder_ / "phi.so";
    const std::string command = "cc -std=c11 -O1 -Wall -Werror -Wno-unused -shared -fPIC -o " +
                                library + " " + (folder_ / "phi.c") + " -lm";
    REQUIRE(std::system(command.c_str()) == 0);
    handle_ = dlopen(library.c_str(), RTLD_NOW);
    REQUIRE(handle_ != nullptr);
  }
  ~Compiled() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  using Function = double (*)(double);
  Function find(const std::string& name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
  }

 private:
  testing::TemporaryFolder folder_;
  void* handle_ = nullptr;
};

/// The printed steps round as the compiled ones do, with functions of a few units in the last place
/// of their own: twice the 16 units that evaluate() promises of |f| + |x f'|.
void check(const Activation& phi, Compiled::Function value, Compiled::Function slope) {
  REQUIRE((value != nullptr));
  REQUIRE((slope != nullptr));
  const double units = 32.0 * std::numeric_limits<double>::epsilon();
  for (double x = -20.0; x <= 20.0; x += 0.0625 * 1.0117) {
    CAPTURE(x);
    const double y = phi.value(x), dy = phi.slope(x);
    CHECK(std::fabs(value(x) - y) <= units * (std::fabs(y) + std::fabs(x * dy)) + 1e-300);
    // |x f''| from a step that is small beside x and large beside its rounding.
    const double step = 1e-5 * (1.0 + std::fabs(x));
    const double bend = std::fabs(x * (phi.slope(x + step) - phi.slope(x - step)) / (2.0 * step));
    CHECK(std::fabs(slope(x) - dy) <= 2.0 * units * (std::fabs(dy) + bend + 1e-3) + 1e-300);
  }
  for (const Break& kink : phi.breaks()) {
    CHECK(value(kink.at) == doctest::Approx(phi.value(kink.at)).epsilon(1e-12));
    CHECK(slope(kink.at) == doctest::Approx(phi.slope(kink.at)).epsilon(1e-12));
  }
  CHECK(std::isnan(value(NAN)));
  CHECK(std::isnan(slope(NAN)));
}

}  // namespace

TEST_CASE("source: every activation in C is what evaluate() gives") {
  std::vector<Activation> all;
  for (const ActivationInfo& info : activations()) all.push_back(Activation::named(info.name));
  for (const char* text : {"x*exp(-x^2)", "sin(x)/x", "(1 - cos(x))/x", "abs(x)^(3/2)", "sign(x)",
                           "x*sigmoid(x) + relu(x - 1)", "log(1 + x^2)", "atan(x)^3"}) {
    all.push_back(Activation::from_expression(text));
  }
  const Compiled compiled(all);
  for (std::size_t k = 0; k < all.size(); ++k) {
    CAPTURE(all[k].name());
    const std::string number = std::to_string(k);
    check(all[k], compiled.find("value" + number), compiled.find("slope" + number));
  }
}
