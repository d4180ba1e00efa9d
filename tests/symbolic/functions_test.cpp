#include "symbolic/functions.hpp"

#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("the language has the functions that its description names") {
  for (const char* name :
       {"exp",  "log",     "abs",      "sign", "min",  "max",         "sin",
        "cos",  "asin",    "acos",     "atan", "tanh", "erf",         "erfc",
        "Phi",  "sigmoid", "softplus", "relu", "gelu", "silu",        "step",
        "sinh", "cosh",    "tan",      "norm", "rms",  "global_norm", "orthogonal"}) {
    INFO(name);
    CHECK(symbolic::find_function(name) != nullptr);
  }
  CHECK(symbolic::find_function("nothing") == nullptr);
  CHECK(formula("sqrt(x)") == formula("x^(1/2)"));
}

TEST_CASE(
    "every function with a value has both evaluations, spellings and, of one argument, a slope") {
  for (const symbolic::Function& function : symbolic::functions()) {
    INFO(std::string(function.name));
    CHECK_FALSE(function.latex.empty());
    CHECK_FALSE(function.python.empty());
    CHECK_FALSE(function.c.empty());
    CHECK((function.in_double == nullptr) == (function.in_interval == nullptr));
    if (function.in_double && function.most_arguments == 1) CHECK(bool(function.derivative));
  }
}

TEST_CASE("a wrong number of arguments is an error that shows the right one") {
  CHECK(mentions(message_of([] { Expr::function("exp", {}); }), "1 argument"));
  CHECK(mentions(message_of([] { Expr::function("exp", {Expr(1), Expr(2)}); }), "write exp(x)"));
  CHECK(mentions(message_of([] { Expr::function("max", {Expr(1)}); }), "2 to 64 arguments"));
  CHECK(mentions(message_of([] { Expr::function("sqrt", {}); }), "write sqrt(x)"));
}

TEST_CASE("functions that the language does not know stay as they are") {
  const Expr call = Expr::function("mystery", {formula("x"), formula("y")});
  CHECK(to_string(call) == "mystery(x, y)");
  CHECK_FALSE(call.is_positive());
}
