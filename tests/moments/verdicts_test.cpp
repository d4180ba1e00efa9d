#include "scalecalc/moments.hpp"
#include "support.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

namespace {

Trace trace_with(const std::vector<double>& seconds, const std::vector<double>& cosines,
                 const std::vector<double>& gradients) {
  Trace trace;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    Site site;
    site.path = "layer[" + std::to_string(i) + "].act";
    site.kind = "activation";
    site.second.value = seconds[i];
    site.cross.value = seconds[i] * cosines[i];
    site.grad_second.value = gradients[i];
    trace.sites.push_back(site);
  }
  return trace;
}

}  // namespace

TEST_CASE("a steady signal is ok") {
  const auto verdicts = depth_verdicts(trace_with({1, 1, 1}, {0, 0.1, 0.2}, {1, 1, 1}));
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].what == "ok");
  CHECK(verdicts[0].site.empty());
}

TEST_CASE("verdicts name the first site past the bound, and how fast it goes") {
  std::vector<double> seconds, cosines, gradients;
  for (int l = 0; l < 16; ++l) {
    seconds.push_back(std::pow(2.0, l));
    cosines.push_back(1 - std::pow(0.5, l + 1));
    gradients.push_back(std::pow(4.0, l - 15));
  }
  const auto verdicts = depth_verdicts(trace_with(seconds, cosines, gradients));
  REQUIRE(verdicts.size() == 3);
  CHECK(verdicts[0].what == "explodes");
  CHECK(verdicts[0].site == "layer[10].act");
  CHECK(verdicts[0].text.find("doubles every 1 steps") != std::string::npos);
  CHECK(verdicts[1].what == "collapses in rank");
  CHECK(verdicts[1].site == "layer[6].act");
  CHECK(verdicts[2].what == "gradient vanishes");
  CHECK(verdicts[2].site == "layer[10].act");
}

TEST_CASE("plain networks are judged as theory does") {
  const auto what = [](const std::string& toml) {
    std::string all;
    for (const DepthVerdict& verdict : depth_verdicts(trace_of_model(toml)))
      all += verdict.what + ",";
    return all;
  };
  const std::string mlp = "model = {kind=\"mlp\", layers=50, sequence=4, activation=\"relu\"}\n";
  CHECK(what(mlp + "init = {scheme=\"lecun\"}\ninput = {cross=0.3}").find("vanishes") == 0);
  CHECK(what(mlp + "init = {weight_variance=4}").find("explodes") == 0);
  CHECK(what("model = {kind=\"transformer\", layers=24, placement=\"post\", activation=\"relu\"}\n")
            .find("collapses in rank") == 0);
  CHECK(what("model = {kind=\"transformer\", layers=12, placement=\"pre\"}\n") == "ok,");
}

TEST_CASE("a network that overflows says where") {
  try {
    trace_of_model(
        "model = {kind=\"mlp\", layers=3000, sequence=2, width=8, features=8, "
        "activation=\"relu\"}\ninit = {weight_variance=4}");
    FAIL("it did not overflow");
  } catch (const Error& error) {
    CHECK(error.where().find("layer[") == 0);
    CHECK(error.kind() == ErrorKind::input);
  }
}
