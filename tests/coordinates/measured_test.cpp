#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "scalecalc/coordinates.hpp"
#include "scalecalc/error.hpp"

using namespace scalecalc;

namespace {

/// Values size^power of each site at the two steps, with the columns as named.
std::string table_of(const std::vector<std::pair<std::string, std::pair<double, double>>>& powers,
                     const std::string& columns = "site,width,step,rms") {
  std::string text = columns + "\n";
  for (const auto& [site, power] : powers)
    for (const double size : {64.0, 128.0, 256.0, 1024.0})
      for (const int step : {0, 5})
        text += site + "," + std::to_string(size) + "," + std::to_string(step) + "," +
                std::to_string(std::pow(size, step == 0 ? power.first : power.second)) + "\n";
  return text;
}

Trend trend_of(const std::vector<MeasuredTrend>& trends, const std::string& site) {
  for (const MeasuredTrend& each : trends)
    if (each.path == site) return each.trend;
  throw Error(ErrorKind::fault, "no site " + site, "test");
}

std::string refusal_of(const std::string& text) {
  try {
    parse_measured(text, "file");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where() + " " + error.message();
  }
  return "read";
}

}  // namespace

TEST_CASE("trends_of: what grows, when, and what falls") {
  const std::vector<MeasuredTrend> trends =
      trends_of(parse_measured(table_of({{"steady", {0, 0}},
                                         {"init", {0.5, 0.5}},
                                         {"training", {0, 0.5}},
                                         {"mends", {-0.5, 0}},
                                         {"falls", {0, -0.5}},
                                         {"nearly", {0.1, -0.1}},
                                         {"head", {-0.5, -0.5}}}),
                               "file"));
  CHECK(trend_of(trends, "steady") == Trend::steady);
  CHECK(trend_of(trends, "init") == Trend::grows_at_init);
  CHECK(trend_of(trends, "training") == Trend::grows_in_training);
  CHECK(trend_of(trends, "mends") == Trend::steady);
  CHECK(trend_of(trends, "falls") == Trend::falls);
  CHECK(trend_of(trends, "nearly") == Trend::steady);
  CHECK(trend_of(trends, "head") == Trend::steady);
  // The values are printed with six digits, of which four sizes leave a slope.
  CHECK(trends[2].last->exponent == doctest::Approx(0.5).epsilon(1e-5));
}

TEST_CASE("trends_of: the head may fall, and may not grow") {
  const std::vector<MeasuredTrend> trends =
      trends_of(parse_measured(table_of({{"block", {0, 0}}, {"head", {-0.5, 0.5}}}), "file"));
  CHECK(trend_of(trends, "head") == Trend::grows_in_training);
}

TEST_CASE("trends_of: growth within two standard errors of the fit is none") {
  std::string text = "site,width,step,rms\n";
  const std::vector<double> scattered = {1, 3, 0.8, 2.6};
  for (int i = 0; i < 4; ++i)
    text += "a," + std::to_string(64 << i) + ",0," + std::to_string(scattered[i]) + "\nb," +
            std::to_string(64 << i) + ",0,1\n";
  const std::vector<MeasuredTrend> trends = trends_of(parse_measured(text, "file"));
  CHECK(trends[0].last->exponent > steady_power);
  CHECK(trends[0].trend == Trend::unknown);
}

TEST_CASE("parse_measured: the columns of the mup package, in any order, with others beside") {
  const MeasuredTable table = parse_measured(
      "t,module,seed,l1,width\n1,fc_1,0,2.0,256\n1,fc_1,1,4.0,256\n1,fc_1,0,1.0,128\n"
      "2,fc_1,0,1.0,128\n2,fc_1,0,nan,256\n1,readout,0,1,128\n",
      "file");
  CHECK(table.axis == "width");
  CHECK(table.quantity == "l1");
  CHECK(table.sizes == std::vector<double>{128, 256});
  CHECK(table.steps == std::vector<std::int64_t>{1, 2});
  REQUIRE(table.sites.size() == 2);
  CHECK(table.sites[0].values[0] == std::vector<double>{1, 3});
  CHECK(std::isnan(table.sites[1].values[0][1]));
  const std::vector<MeasuredTrend> trends = trends_of(table);
  CHECK(trends[0].trend == Trend::diverges);
  CHECK(trends[1].trend == Trend::unknown);
  CHECK(std::isnan(trends[0].first->standard_error));
}

TEST_CASE("parse_measured: what is no such table is refused at its line") {
  const std::string head = "site,width,step,rms\n";
  const std::map<std::string, std::string> refusals = {
      {"", "empty"},
      {"place,width,step,rms\na,1,0,1\n", "site, module"},
      {"site,width,rms\na,1,1\n", "step, t"},
      {head, "0 sizes"},
      {head + "a,64,0,1\n", "1 sizes"},
      {head + "a,64,0,1\na,-1,0,1\n", "file:3"},
      {head + "a,inf,0,1\n", "file:2"},
      {head + "a,64,0.5,1\n", "whole number"},
      {head + "a,64,-1,1\n", "whole number"},
      {head + "a,64,0,-1\n", "number from 0"},
      {head + "a,64,0,one\n", "'one'"},
      {head + "a,64,0\n", "3 fields"},
      {head + "a,64,0,\n", "number from 0"}};
  for (const auto& [text, says] : refusals) {
    CAPTURE(text);
    CHECK(refusal_of(text).find(says) != std::string::npos);
  }
}

TEST_CASE("trends_of: what begins late is not the init's") {
  std::string text = "site,width,step,rms\n";
  for (const int step : {100, 200})
    for (const int width : {64, 128, 256})
      for (const char* site : {"a", "b"})
        text += std::string(site) + "," + std::to_string(width) + "," + std::to_string(step) + "," +
                std::to_string(width) + "\n";
  for (const MeasuredTrend& site : trends_of(parse_measured(text, "file")))
    CHECK(site.trend == Trend::grows_in_training);
}

TEST_CASE("parse_measured: a table has one axis") {
  CHECK(refusal_of("site,width,depth,step,rms\na,64,2,0,1\na,128,2,0,1\n").find("several axes") !=
        std::string::npos);
  const std::string head = "axis,size,step,site,rms\n";
  CHECK(refusal_of(head + "width,64,0,a,1\ndepth,2,0,a,1\n").find("file:3") != std::string::npos);
  CHECK(parse_measured(head + "depth,2,0,a,1\ndepth,4,0,a,1\n", "file").axis == "depth");
}
