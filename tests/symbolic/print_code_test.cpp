#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support.hpp"
#include "temporary_folder.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> formulas{
    "(2*N)^(1/4)",
    "(2*N)^(-1/4)",
    "1/(2*N)",
    "81/100*(N^4*M)^(1/16)",
    "lambda/N",
    "(1 + lambda^4/N^2)^(-1/2)",
    "3/4*x",
    "x/3 - 1/7",
    "x^3 - 2*x + 1/4",
    "2^x",
    "N^(-x)",
    "exp(x)",
    "log(N)",
    "sin(x) + cos(y) - tan(x)",
    "asin(x/9)",
    "acos(y/9)",
    "atan(x)",
    "sinh(x)",
    "cosh(y)",
    "tanh(x)",
    "erf(x)",
    "erfc(x)",
    "Phi(x)",
    "Phi(x - y)",
    "sigmoid(x)",
    "sigmoid(-9*y)",
    "softplus(x)",
    "softplus(x - 2*y)",
    "relu(x)",
    "relu(-x)",
    "gelu(x)",
    "gelu(y - x)",
    "silu(x)",
    "silu(-x)",
    "step(x)",
    "step(-x)",
    "step(y - y*N)",
    "sign(x)",
    "sign(x - y)",
    "-sign(x)*2",
    "abs(x)",
    "abs(x - 9)",
    "min(x, y)",
    "max(x, y, 0)",
    "pi*x",
    "x*(2*pi)^(-1/2)*exp(-x^2/2)",
    "1.0507009873554805*(max(x, 0) + 1.6732632423543772*min(exp(x) - 1, 0))",
    "(x + y)^2/(3*N)",
    "-(x - 1)^2",
    "x - (y - 1)*(N - 2)",
    "sigmoid(1000*x)",
    "softplus(-1000*x)",
    "(x*y)^2",
    "1e-7*x",
    "sqrt(1 + sqrt(N))",
    "2/3*5^(1/2)",
    "1/(x*N^(1/2))"};

const Bindings point{{"x", 0.7}, {"y", -1.3}, {"N", 3.5}, {"M", 6.0}, {"lambda", 0.4}};

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " > /dev/null 2>&1").c_str()) == 0;
}

std::vector<double> run(const std::string& command) {
  std::vector<double> values;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  double value = 0;
  while (std::fscanf(pipe, "%lf", &value) == 1) values.push_back(value);
  CHECK(pclose(pipe) == 0);
  return values;
}

/// Each printed value against the evaluation in double: both take a few dozen roundings, each
/// amplified by the conditioning of the formulas above, which is below 100.
void check_values(const std::vector<double>& values) {
  REQUIRE(values.size() == formulas.size());
  for (std::size_t k = 0; k < formulas.size(); ++k) {
    INFO(formulas[k]);
    const double expected = evaluate(formula(formulas[k]), point);
    CHECK(std::fabs(values[k] - expected) <= 1e-12 * std::fabs(expected) + 1e-300);
  }
}

std::string assignments(Notation notation, const char* prefix, const char* suffix) {
  std::ostringstream lines;
  for (const auto& [name, value] : point) {
    lines << prefix << to_string(Expr::symbol(name), notation) << " = " << value << suffix << "\n";
  }
  return lines.str();
}

}  // namespace

TEST_CASE("what is printed as Python runs and gives the same numbers") {
  if (!has_program("python3")) {
    MESSAGE("skipped: there is no python3 here");
    return;
  }
  const TemporaryFolder folder;
  const fs::path file = folder / "formulas.py";
  std::ofstream out(file);
  out << "import math\n" << assignments(Notation::python, "", "");
  for (const std::string& text : formulas) {
    out << "print(repr(float(" << to_string(formula(text), Notation::python) << ")))\n";
  }
  out.close();
  check_values(run("python3 " + file.string()));
}

TEST_CASE("what is printed as C compiles and gives the same numbers") {
  if (!has_program("cc")) {
    MESSAGE("skipped: there is no C compiler here");
    return;
  }
  const TemporaryFolder folder;
  const fs::path file = folder / "formulas.c", program = folder / "formulas";
  std::ofstream out(file);
  out << "#include <math.h>\n#include <stdio.h>\nint main(void) {\n"
      << assignments(Notation::c, "  volatile double ", ";");
  for (const std::string& text : formulas) {
    out << "  printf(\"%.17g\\n\", " << to_string(formula(text), Notation::c) << ");\n";
  }
  out << "  return 0;\n}\n";
  out.close();
  check_values(
      run("cc -O0 -o " + program.string() + " " + file.string() + " -lm && " + program.string()));
}
