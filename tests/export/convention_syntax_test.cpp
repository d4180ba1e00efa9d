#include "export/conventions/syntax.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "export/conventions/arguments.hpp"
#include "scalecalc/conventions.hpp"
#include "tolerance.hpp"

namespace scalecalc::conventions {
namespace {

using namespace testing;

double value(const std::string& text) {
  const NodePtr call = parse_line("f(" + text + ")");
  return evaluate(number_of(*call->arguments.front().value, "x"));
}

std::string refusal(const std::string& line) {
  try {
    convention({line, {64, 64}, "", 1, 1, ""});
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("Python's arithmetic") {
  CHECK(value("1/3") == rounded(1.0 / 3, 8));
  CHECK(value("2**-0.5") == rounded(std::sqrt(0.5), 8));
  CHECK(value("-2**2") == -4);
  CHECK(value("2**3**2") == 512);
  CHECK(value("(1 + 2)*3 - 4/2") == 7);
  CHECK(value("1_000.") == 1000);
  CHECK(value(".5e-1") == 0.05);
  CHECK(value("math.sqrt(5)*np.sqrt(5)") == rounded(5, 8));
  CHECK(value("math.pi") == rounded(std::acos(-1.0), 8));
  CHECK(value("nn.init.calculate_gain(\"leaky_relu\", 0.2)") == rounded(std::sqrt(2 / 1.04), 8));
  CHECK(value("nn.init.calculate_gain('tanh')") == rounded(5.0 / 3, 8));
}

TEST_CASE("calls, names, strings, tuples") {
  const NodePtr node = parse_line("self.w = a.b[0].c(x, 'y', (1, 2), [3], key=None, flag=True)");
  REQUIRE(node->kind == Node::Kind::call);
  CHECK(node->items.front()->text == "a.b[0].c");
  REQUIRE(node->arguments.size() == 6);
  CHECK(node->arguments[1].value->text == "y");
  CHECK(node->arguments[2].value->items.size() == 2);
  CHECK(node->arguments[3].value->kind == Node::Kind::tuple);
  CHECK(node->arguments[4].name == "key");
  CHECK(node->arguments[4].value->kind == Node::Kind::word);
}

TEST_CASE("what cannot be read says where") {
  CHECK(says(refusal("torch.nn.init.normal_(w"), "at column 24"));
  CHECK(says(refusal("normal_(w))"), "expected the end of the line at column 11"));
  CHECK(says(refusal("normal_(w, std='a"), "closed"));
  CHECK(says(refusal("normal_(w, std=1//2)"), "operand"));
  CHECK(says(refusal("import os; os.system('x')"), "end of the line"));
  CHECK(says(refusal("normal_(w, std=lambda: 1)"), "expected ',' or ')'"));
  CHECK(says(refusal("normal_(w, *args)"), "expected a call"));
  CHECK(says(refusal(std::string(5000, 'a')), "at most 4096 bytes"));
  CHECK(says(refusal(std::string(200, '(') + "1" + std::string(200, ')')), "nest at most"));
  CHECK(says(refusal(std::string("normal_(\0w)", 11)), "zero bytes"));
  CHECK(says(refusal("normal_(w, std=\x1b[31m)"), "?[31m"));
}

TEST_CASE("what does not fit says what would") {
  CHECK(says(refusal("torch.nn.init.kaiming_norml_(w)"), "did you mean 'kaiming_normal_'"));
  CHECK(says(refusal("torch.nn.init.he_normal(w)"), "function of pytorch"));
  CHECK(says(refusal("nn.init.kaiming_normal_(w, nonlinearty='relu')"),
             "did you mean 'nonlinearity'"));
  CHECK(says(refusal("nn.init.kaiming_normal_(w, nonlinearity='gelu')"), "unknown nonlinearity"));
  CHECK(says(refusal("nn.init.kaiming_normal_(w, mode='fan_avg')"), "unknown mode"));
  CHECK(says(refusal("nn.init.normal_(w, std=config.std)"), "must be a number"));
  CHECK(says(refusal("nn.init.normal_(w, std=-1)"), "not be negative"));
  CHECK(says(refusal("nn.init.normal_(w, std=1/0)"), "division by zero"));
  CHECK(says(refusal("nn.init.normal_(w, std=1e300**9)"), "1e30"));
  CHECK(says(refusal("nn.init.normal_(w, 0, 1, None, 5)"), "at most 4 arguments"));
  CHECK(says(refusal("nn.init.normal_(w, 0, mean=1)"), "given twice"));
  CHECK(says(refusal("nn.init.constant_(w)"), "'val' is missing"));
  CHECK(says(refusal("nn.init.uniform_(w, 1, 1)"), "above the lower bound"));
  CHECK(says(refusal("nn.init.trunc_normal_(w, std=0.01, a=1, b=2)"), "between the bounds"));
  CHECK(says(refusal("nn.init.trunc_normal_(w, a=2, b=1)"), "below the upper"));
  CHECK(says(refusal("nn.init.dirac_(w)"), "3 to 5 axes"));
  CHECK(says(refusal("nn.Linear(0, 4)"), "integer from 1"));
  CHECK(says(refusal("nn.Linear(4, 4) * 2"), "a layer is given by one call"));
  CHECK(says(refusal("nn.Conv2d(6, 4, 3, groups=4)"), "divide"));
  CHECK(says(refusal("torch.randn(4, 4) + torch.randn(4, 4)"), "multiply or divide"));
  CHECK(says(refusal("torch.randn(4, 4) / 0"), "division by zero (LINE"));
  CHECK(says(refusal("he_normal(in_axis=5)"), "axes from -2 to 1"));
  CHECK(says(refusal("42"), "one call"));
}

}  // namespace
}  // namespace scalecalc::conventions
