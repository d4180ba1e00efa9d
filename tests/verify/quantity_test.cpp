#include <doctest/doctest.h>

#include "scalecalc/verify.hpp"

using namespace scalecalc;

TEST_CASE("quantities have names, and wrong ones get the nearest") {
  CHECK(quantity_names() == std::vector<std::string>{"delta_loss", "actual_delta_loss", "grad_norm",
                                                     "update_ratio", "probe"});
  for (const std::string& name : quantity_names()) CHECK(to_string(quantity_from(name)) == name);
  try {
    quantity_from("delta_los");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    const std::string line = error.what();
    CHECK(line.find("'delta_loss'") != std::string::npos);
    CHECK(line.find("--quantity") != std::string::npos);
  }
}
