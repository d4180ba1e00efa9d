#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "report/plot/frame.hpp"
#include "scalecalc/plot.hpp"
#include "xml.hpp"

namespace scalecalc::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Plot sample_plot() {
  Plot plot;
  plot.title = "Norm & <size>";
  plot.x = {"depth", "blocks", AxisScale::logarithmic};
  plot.x.ticks = {2, 8, 32};
  plot.y = {"gradient norm", "nats", AxisScale::logarithmic};
  plot.series = {{"post", Origin::predicted, {{2, 0.5}, {8, 2}, {32, 40}}, 0, false},
                 {"post", Origin::measured, {{2, 0.6, 0.1}, {8, 1.7, 0.2}, {32, 44, 50}}, 0, false},
                 {"it's", Origin::fitted, {{2, 1}, {32, 30}}, 1, false}};
  return plot;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

std::vector<double> places(const std::vector<Tick>& ticks) {
  std::vector<double> values;
  for (const Tick& tick : ticks) values.push_back(tick.at);
  return values;
}

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

/// (L + 0.05)/(l + 0.05) of WCAG 2, of two #rrggbb colours.
double contrast(const std::string& a, const std::string& b) {
  const auto luminance = [](const std::string& colour) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; ++i) {
      const double part = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
      sum += weights[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
  };
  const double high = std::max(luminance(a), luminance(b));
  return (high + 0.05) / (std::min(luminance(a), luminance(b)) + 0.05);
}

}  // namespace

TEST_CASE("linear ticks are round and within the range") {
  const Axis axis{"x", ""};
  CHECK(labels(ticks_of(axis, {0, 1}, 5)) ==
        std::vector<std::string>{"0", "0.2", "0.4", "0.6", "0.8", "1"});
  CHECK(labels(ticks_of(axis, {-3, 3}, 3)) == std::vector<std::string>{"-2", "0", "2"});
  CHECK(labels(ticks_of(axis, {1e6, 1.2e6}, 2)) ==
        std::vector<std::string>{"1000000", "1100000", "1200000"});
  // Two ticks must not have the same label, however small the range.
  const std::vector<std::string> close = labels(ticks_of(axis, {1000.01, 1000.06}, 5));
  CHECK(close.size() > 2);
  CHECK(std::adjacent_find(close.begin(), close.end()) == close.end());
}

TEST_CASE("logarithmic ticks: powers of ten, then 1 2 5, then what a narrow range has") {
  const Axis axis{"x", "", AxisScale::logarithmic};
  CHECK(labels(ticks_of(axis, {1e-5, 1e5}, 6)) ==
        std::vector<std::string>{"10⁻⁴", "10⁻²", "10⁰", "10²", "10⁴"});
  CHECK(labels(ticks_of(axis, {0.9, 60}, 6)) ==
        std::vector<std::string>{"1", "2", "5", "10", "20", "50"});
  CHECK(places(ticks_of(axis, {2.1, 2.9}, 5)).size() >= 3);
  CHECK(ticks_of(axis, {1e-300, 1e300}, 6).size() <= 8);
}

TEST_CASE("the scale that values ask for") {
  const auto of = [](std::vector<PlotPoint> points) {
    return fitting_scale({Series{"", Origin::measured, std::move(points)}});
  };
  CHECK(of({{0, 1}, {1, 31}}) == AxisScale::logarithmic);
  CHECK(of({{0, 1}, {1, 30}}) == AxisScale::linear);
  CHECK(of({{0, -1}, {1, 1e9}}) == AxisScale::linear);
  CHECK(of({{0, 1}, {1, kNaN}, {2, kInf}, {3, 100}}) == AxisScale::logarithmic);
  CHECK(of({}) == AxisScale::linear);
}

TEST_CASE("an SVG is well-formed, names its axes with units and says what each series is") {
  for (const std::string& svg :
       {to_inline_svg(sample_plot()), to_svg({"A figure", {sample_plot(), sample_plot()}})}) {
    CHECK(xml_error(svg) == "");
    CHECK(svg.find(">depth (blocks)<") != std::string::npos);
    CHECK(svg.find(">gradient norm (nats)<") != std::string::npos);
    CHECK(svg.find(">post, predicted and measured<") != std::string::npos);
    CHECK(svg.find(">it&#39;s, fitted<") != std::string::npos);
    CHECK(svg.find("Norm &amp; &lt;size&gt;") != std::string::npos);
    CHECK(svg.find("role=\"img\" aria-label=\"") != std::string::npos);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
  }
  CHECK(xml_error("<a><b></a>") != "");
  CHECK(xml_error("<a x=1></a>") != "");
  CHECK(xml_error("<a>&</a>") != "");
}

TEST_CASE("points lie where the axes say") {
  Plot plot;
  plot.x = {"x", "m"};
  plot.y = {"y", "m"};
  plot.x.ticks = {0, 10};
  plot.series = {{"a", Origin::predicted, {{0, 0}, {5, 5}, {10, 10}}, 0, false}};
  const std::string svg = to_inline_svg(plot);
  const std::size_t at = svg.find("<svg", 1);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = svg.find("d=\"M", at);
  double x[3], y[3];
  REQUIRE(std::sscanf(svg.c_str() + begin, "d=\"M%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1],
                      &y[1], &x[2], &y[2]) == 6);
  // Coordinates are printed with two decimals, of some hundred.
  CHECK(x[1] == doctest::Approx((x[0] + x[2]) / 2).epsilon(1e-3));
  CHECK(y[1] == doctest::Approx((y[0] + y[2]) / 2).epsilon(1e-3));
  CHECK(y[0] > y[2]);
}

TEST_CASE("what cannot be drawn is left out and counted") {
  Plot plot = sample_plot();
  plot.series = {
      {"a", Origin::measured, {{2, -1}, {4, 0}, {8, kNaN}, {8, 1}, {16, kInf}}, 0, true}};
  CHECK(full_note(plot) ==
        "2 points are not positive: the logarithmic axis cannot show them. "
        "Beyond the axis, with an arrow at its edge: a (up to infinity).");
  plot.y.most = 0.5;
  const std::string script = to_gnuplot({"", {plot}});
  CHECK(script.find("$panel0_series0_above << END\n8 ") != std::string::npos);
  CHECK(script.find("$panel0_series0_above using 1:2:('↑') with labels") != std::string::npos);
  CHECK(script.find("_below") == std::string::npos);
  CHECK(xml_error(to_inline_svg(plot)) == "");
  for (const double value : {kNaN, kInf, -kInf, 0.0, 1e308, -1e308, 5e-324, 1.0}) {
    for (const AxisScale scale : {AxisScale::linear, AxisScale::logarithmic}) {
      CAPTURE(value);
      plot.x = {"x", "", scale};
      plot.y = {"y", "", scale};
      for (const Origin origin : {Origin::predicted, Origin::measured}) {
        plot.series = {{"a", origin, {{value, 1}, {1, value}, {2, 2, value}}, 3, true}};
        const std::string svg = to_inline_svg(plot);
        CHECK(xml_error(svg) == "");
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(count(svg, "inf") == count(svg, "infinity"));
        CHECK(count(to_gnuplot({"", {plot}}), "inf") ==
              count(to_gnuplot({"", {plot}}), "infinity"));
      }
    }
  }
}

TEST_CASE(
    "a band about a line: an area with gaps, within the axes, and the axes reach to its ends") {
  Plot plot;
  plot.x = {"step", "updates"};
  plot.y = {"norm", "nats", AxisScale::logarithmic};
  plot.series = {{"a",
                  Origin::measured,
                  {{1, 2, 0, 1, 4}, {2, 2, 0, 0, 8}, {3, 5}, {4, 1, 0, 0.5, 1}, {5, 1, 0, 1, 1}},
                  0,
                  true}};
  const Range range = range_of_y(plot);
  CHECK(range.least < 0.5);
  CHECK(range.most > 8);
  CHECK(range.most < 10);
  const std::string svg = to_inline_svg(plot);
  CHECK(xml_error(svg) == "");
  // Two areas of two points each, which go there and back.
  const std::size_t area = svg.find("fill-opacity=\"0.18\"");
  REQUIRE(area != std::string::npos);
  const std::string commands = svg.substr(svg.rfind("d=\"", area), area - svg.rfind("d=\"", area));
  CHECK(count(commands, "M") == 2);
  CHECK(count(commands, "L") == 6);
  CHECK(count(commands, "Z") == 2);
  const std::string script = to_gnuplot({"", {plot}});
  CHECK(script.find("$panel0_series0_band using 1:2:3 with filledcurves") != std::string::npos);
  plot.y.most = 6;
  CHECK(full_note(plot) == "Beyond the axis, with an arrow at its edge: a (up to 8).");
  plot.series[0].points = {{1, 2}, {2, 3}};
  CHECK(to_inline_svg(plot).find("fill-opacity") == std::string::npos);
  CHECK(to_gnuplot({"", {plot}}).find("band") == std::string::npos);
}

TEST_CASE("nothing, one point, and a hundred thousand") {
  Plot plot = sample_plot();
  plot.series.clear();
  CHECK(to_inline_svg(plot).find(">nothing to draw<") != std::string::npos);
  CHECK(to_gnuplot({"", {plot}}).find("nothing to draw") != std::string::npos);
  CHECK(xml_error(to_svg({"", {}})) == "");
  plot.series = {{"one", Origin::measured, {{3, 7}}, 0, false}};
  CHECK(xml_error(to_inline_svg(plot)) == "");
  plot.series = {{"many", Origin::measured, {}, 0, true}, {"many", Origin::measured, {}, 1, false}};
  for (int i = 1; i <= 100'000; ++i)
    for (Series& series : plot.series)
      series.points.push_back({static_cast<double>(i), 2 + std::sin(i * 0.01)});
  const std::string svg = to_inline_svg(plot);
  CHECK(xml_error(svg) == "");
  // At most four ends a pixel column for the line, one mark a pixel.
  CHECK(svg.size() < 3'000'000);
  CHECK(count(to_gnuplot({"", {plot}}), "\n") > 200'000);
}

TEST_CASE("series without a name look as another and are not listed") {
  Plot plot = sample_plot();
  plot.series[1].name.clear();
  CHECK(to_inline_svg(plot).find("post, measured") == std::string::npos);
  CHECK(to_gnuplot({"", {plot}}).find("notitle") != std::string::npos);
}

TEST_CASE("colours are readable on light and dark, and looks differ without them") {
  for (int look = 0; look < kColours; ++look) {
    CAPTURE(look);
    CHECK(contrast(colour_of(look), "#ffffff") >= 3);
    CHECK(contrast(colour_of(look), "#14171b") >= 3);
  }
  for (int a = 0; a < 24; ++a) {
    for (int b = 0; b < a; ++b) {
      CAPTURE(a);
      CAPTURE(b);
      const Series one{"", Origin::predicted, {}, a}, other{"", Origin::predicted, {}, b};
      const bool same_colour = std::string(colour_of(a)) == colour_of(b);
      CHECK_FALSE((same_colour && mark_of(a) == mark_of(b)));
      CHECK_FALSE((same_colour && dashes_of(one) == dashes_of(other)));
      if (a < 6) CHECK(dashes_of(one) != dashes_of(other));
      if (a < 6) CHECK(mark_of(a) != mark_of(b));
    }
  }
}

TEST_CASE("a gnuplot script: its data inside, and no text that is a command") {
  Plot plot = sample_plot();
  plot.title = "a'b `touch x` \"c\"\nexit";
  const std::string script = to_gnuplot({"T'", {plot}});
  CHECK(script.find("set title 'a''b `touch x` \"c\" exit'\n") != std::string::npos);
  CHECK(script.find("title 'T'''") != std::string::npos);
  CHECK(script.find("$panel0_series0 << END\n2 0.5 0\n8 2 0\n32 40 0\nEND\n") != std::string::npos);
  CHECK(script.find("set termoption noenhanced\n") != std::string::npos);
  CHECK(script.find("title 'post, predicted'") != std::string::npos);
  CHECK(script.find("set xlabel 'depth (blocks)'") != std::string::npos);
}

TEST_CASE("sparklines") {
  CHECK(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, true) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8, false) == "_.:-=+*#");
  CHECK(sparkline({1, 10, 100}, 8, false, AxisScale::logarithmic) == "_=#");
  CHECK(sparkline({0, 0, 4, 4}, 2, false) == "_#");
  CHECK(sparkline({1, kNaN, 2}, 8, false) == "_ #");
  CHECK(sparkline({1, kInf, 2, -kInf}, 8, false) == "_##_");
  CHECK(sparkline({5, 5}, 8, false) == "==");
  CHECK(sparkline({-1, 1, 2}, 8, false, AxisScale::logarithmic) == " _#");
  CHECK(sparkline({1e308, -1e308}, 8, false) == "#_");
  CHECK(sparkline({}, 8, true) == "");
  CHECK(sparkline({1, 2}, 0, true) == "");
}

TEST_CASE("tables draw curves where they are wanted and fit, and no other format does") {
  Document document;
  Table table{{"name", "value"}, {{"a", 1}, {"b", 2}}};
  table.curves = {"curve", {{1, 2, 3}, {3, 2, 1}}};
  Table only = table;
  only.curves.only = true;
  document.sections = {{"Both", table}, {"Curves", only}};
  Style style;
  CHECK(make_printer(Format::table, style)->print(document) ==
        "Both\n  name  value\n  ----  -----\n  a         1\n  b         2\n");
  style.curves = true;
  const std::string ascii = make_printer(Format::table, style)->print(document);
  CHECK(ascii.find("  a         1  _=#\n  b         2  #=_\n") != std::string::npos);
  CHECK(ascii.find("\nCurves\n") != std::string::npos);
  style.unicode = true;
  CHECK(make_printer(Format::table, style)->print(document).find("▁▅█") != std::string::npos);
  style.width = 18;
  CHECK(make_printer(Format::table, style)->print(document).find("curve") == std::string::npos);
  style.width = 100;
  for (const Format format : {Format::csv, Format::json, Format::markdown, Format::latex}) {
    CHECK(make_printer(format, style)->print(document).find("urve") == std::string::npos);
  }
}

TEST_CASE("a page is one well-formed text without a script or an address") {
  Page page{"Runs of <me> & you", {}};
  page.parts.push_back(Section{"Facts", Facts{{{"a", 1.5}, {"<b>", "x & y"}}}});
  page.parts.push_back(
      Section{"Table", Table{{"name", "value"}, {{"<script>alert(1)</script>", 2}}}});
  page.parts.push_back(sample_plot());
  page.parts.push_back(Section{"", Paragraph{"One.\nTwo."}});
  page.parts.push_back(Section{"Steps", Derivation{{{"A", "x", "x", "why", "if"}}}});
  const std::string html = to_html(page);
  CHECK(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n"));
  CHECK(html.find("<title>Runs of &lt;me&gt; &amp; you</title>") != std::string::npos);
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(1)") != std::string::npos);
  CHECK(html.find("<th scope=\"col\" class=\"number\">value</th>") != std::string::npos);
  CHECK(html.find("default-src 'none'") != std::string::npos);
  // The only address is the name of SVG's language.
  CHECK(count(html, "://") == count(html, "xmlns=\"http://www.w3.org/2000/svg\""));
  // HTML's void elements aside it is XML too.
  std::string xml = html.substr(html.find("<html"));
  for (const char* name : {"<meta", "<br"}) {
    for (std::size_t at = xml.find(name); at != std::string::npos; at = xml.find(name, at + 1))
      xml.insert(xml.find('>', at), "/");
  }
  CHECK(xml_error(xml) == "");
}

TEST_CASE("looks of a figure in its golden files") {
  const auto golden = [](const char* name) {
    std::ifstream file(
        std::filesystem::path(SCALECALC_TABLES_DIR).parent_path() / "tests/report/golden" / name,
        std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  const Figure figure{"A figure", {sample_plot()}};
  CHECK(to_svg(figure) == golden("plot.svg"));
  CHECK(to_gnuplot(figure) == golden("plot.gp"));
}

}  // namespace scalecalc::report
