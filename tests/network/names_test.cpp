#include <doctest/doctest.h>

#include "scalecalc/network.hpp"

using namespace scalecalc;

TEST_CASE("placements have the names of the command line") {
  CHECK(placement_names() == std::vector<std::string>{"post", "pre", "res-post", "sandwich",
                                                      "sub-ln", "resi-dual", "rezero", "skipinit",
                                                      "fixup", "branchnorm", "none"});
  for (const std::string& name : placement_names()) CHECK(to_string(placement_from(name)) == name);
  for (const std::string name :
       {"layernorm", "rmsnorm", "scalenorm", "batchnorm", "instancenorm", "none"})
    CHECK(to_string(norm_from(name)) == name);
  for (const std::string name : {"normal", "uniform", "truncated_normal", "orthogonal"})
    CHECK(to_string(distribution_from(name)) == name);
}

TEST_CASE("a wrong name is answered with the nearest") {
  const auto message = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.exit_code() == 2);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message([] { placement_from("sub_ln", "--placement"); }).find("'sub-ln'") !=
        std::string::npos);
  CHECK(message([] { placement_from("prre"); }).find("'pre'") != std::string::npos);
  CHECK(message([] { norm_from("layer_norm"); }).find("'layernorm'") != std::string::npos);
  CHECK(message([] { distribution_from("gaussian", "m.toml:3:1"); }).find("m.toml:3:1") !=
        std::string::npos);
  CHECK(message([] { placement_from(""); }).find("placement") != std::string::npos);
}

TEST_CASE("all but post and none have a final norm") {
  for (const std::string& name : placement_names())
    CHECK(has_final_norm(placement_from(name)) == (name != "post" && name != "none"));
}
