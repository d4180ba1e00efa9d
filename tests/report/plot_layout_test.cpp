#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <regex>
#include <set>

#include "report/plot/frame.hpp"
#include "report/plot/lettering.hpp"
#include "scalecalc/plot.hpp"
#include "xml.hpp"

// The layout of figures, read from the SVG itself, of many figures with all that differs in them.
namespace scalecalc::report {
namespace {

struct Box {
  double left, top, right, bottom;
  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool contains(const Box& other) const {
    return left <= other.left && top <= other.top && other.right <= right && other.bottom <= bottom;
  }
};

struct Text {
  Box box;
  std::string words;
  bool bold = false;
};

struct Drawing {
  Box paper{};
  std::vector<Box> frames, legends;
  std::vector<Text> texts;
};

std::string attribute(const std::string& element, const std::string& name) {
  const std::size_t at = element.find(" " + name + "=\"");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 3;
  return element.substr(begin, element.find('"', begin) - begin);
}

double number(const std::string& element, const char* name) {
  return std::stod(attribute(element, name));
}

std::string unescaped(std::string text) {
  for (const auto& [from, to] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&#39;", "'"}, {"&quot;", "\""}, {"&amp;", "&"}}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++at)
      text.replace(at, std::string(from).size(), to);
  }
  return text;
}

/// From the top of a capital to the tail of a g; turned texts are read upwards.
Text text_of(const std::string& element, const std::string& content) {
  Text text{{}, unescaped(content), !attribute(element, "font-weight").empty()};
  const double x = number(element, "x"), y = number(element, "y"),
               size = number(element, "font-size");
  const double width = text_width(text.words, size) * (text.bold ? kBold : 1);
  const std::string anchor = attribute(element, "text-anchor");
  const double before = anchor == "end" ? width : anchor == "middle" ? width / 2 : 0;
  const double up = 0.75 * size, down = 0.24 * size;
  text.box = attribute(element, "transform").empty()
                 ? Box{x - before, y - up, x - before + width, y + down}
                 : Box{x - up, y - width + before, x + down, y + before};
  return text;
}

Drawing read(const std::string& svg) {
  Drawing drawing;
  drawing.paper = {0, 0, number(svg, "width"), number(svg, "height")};
  static const std::regex parts(
      R"(<g class="legend">|</g>|<rect class="frame"[^>]*>|(<text [^>]*>)([^<]*)</text>)");
  bool in_legend = false;
  for (std::sregex_iterator at(svg.begin(), svg.end(), parts), end; at != end; ++at) {
    const std::string part = at->str();
    if (part.starts_with("<rect")) {
      const double x = number(part, "x"), y = number(part, "y");
      drawing.frames.push_back({x, y, x + number(part, "width"), y + number(part, "height")});
    } else if (part.starts_with("<text")) {
      drawing.texts.push_back(text_of((*at)[1], (*at)[2]));
      if (in_legend) drawing.legends.push_back(drawing.texts.back().box);
    } else {
      in_legend = part.starts_with("<g");
    }
  }
  return drawing;
}

/// Any figure: 1 to 12 curves of any range, names and notes of any length, gaps, infinities.
class AnyFigure {
 public:
  explicit AnyFigure(unsigned seed) : random_(seed) {}

  Figure operator()() {
    Figure figure{words(0, 25), {}};
    for (int i = whole(1, 3); i > 0; --i) figure.panels.push_back(plot());
    return figure;
  }

 private:
  int whole(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  bool one_in(int count) { return whole(1, count) == 1; }
  double real(double least, double most) {
    return std::uniform_real_distribution(least, most)(random_);
  }
  std::string words(int least, int most) {
    static const char* const kWords[] = {"loss", "of",  "<size>", "WWWWW&", "block[11].ffn.out",
                                         "it's", "the", "N^-0.5", "second"};
    std::string text;
    for (int i = whole(least, most); i > 0; --i)
      text += (text.empty() ? "" : " ") + std::string(kWords[whole(0, 8)]);
    return text;
  }
  Axis axis() {
    Axis axis{words(1, 12), words(0, 2), one_in(2) ? AxisScale::linear : AxisScale::logarithmic};
    axis.whole = one_in(4);
    return axis;
  }
  double value(const Axis& axis, double centre, double reach) {
    if (one_in(40)) return std::numeric_limits<double>::quiet_NaN();
    if (one_in(60)) return std::numeric_limits<double>::infinity();
    const double at = real(-1, 1);
    return axis.scale == AxisScale::linear ? centre + reach * at
                                           : std::abs(centre) * std::pow(10, 4 * at);
  }
  Plot plot() {
    Plot plot{words(0, 30), axis(), axis(), {}, words(0, 40)};
    const double size = std::pow(10, real(-12, 12)), reach = size * std::pow(10, real(-6, 0));
    if (one_in(3)) {
      for (int i = whole(1, 60); i > 0; --i) plot.x.names.push_back(words(1, 2));
    } else if (one_in(3)) {
      for (int i = 0, depth = 1; i < whole(1, 12); ++i)
        plot.x.ticks.push_back(depth *= whole(2, 4));
    }
    const int curves = one_in(9) ? 0 : whole(1, 12);
    for (int i = 0; i < curves; ++i) {
      Series series{
          one_in(5) ? "" : words(1, 4), static_cast<Origin>(whole(0, 3)), {}, i, one_in(2)};
      for (int at = one_in(8) ? 1 : whole(0, 40); at > 0; --at) {
        const double x = plot.x.names.empty() ? value(plot.x, size, reach) : at;
        const double much = one_in(30) ? 1e9 : 1;
        series.points.push_back({x, much * value(plot.y, size, reach), real(0, reach)});
      }
      plot.series.push_back(std::move(series));
    }
    if (one_in(2)) let_outliers_leave(plot);
    return plot;
  }

  std::mt19937 random_;
};

/// Steps of 1, 2 or 5 times a power of ten from a multiple of it, powers of ten, or all of 1, 2, 5,
/// 10, ... that lie between the first and the last.
bool is_round_step(double step) {
  const double first = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
  return std::abs(first - 1) < 1e-6 || std::abs(first - 2) < 1e-6 || std::abs(first - 5) < 1e-6;
}

bool is_even(const std::vector<Tick>& ticks) {
  bool steps = true, decades = true, one_two_five = true;
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    const double step = ticks[1].at - ticks[0].at, ratio = ticks[1].at / ticks[0].at;
    const double here = ticks[i].at / ticks[i - 1].at;
    steps = steps && is_round_step(step) &&
            std::abs(ticks[i].at - ticks[i - 1].at - step) < 1e-6 * step &&
            std::abs(ticks[i].at / step - std::round(ticks[i].at / step)) < 1e-4;
    decades = decades && std::abs(here / ratio - 1) < 1e-6 &&
              std::abs(std::log10(ticks[i].at) - std::round(std::log10(ticks[i].at))) < 1e-6;
    one_two_five = one_two_five && is_round_step(ticks[i].at) && here < 2.5 + 1e-6;
  }
  return steps || decades || one_two_five;
}

}  // namespace

TEST_CASE("any figure: all text inside, whole and apart, legends beside the drawing") {
  AnyFigure any(7);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Figure figure = any();
    const std::string svg = to_svg(figure);
    REQUIRE(xml_error(svg) == "");
    const Drawing drawing = read(svg);
    REQUIRE(drawing.frames.size() == figure.panels.size());
    std::string titles, expected = figure.title;
    for (const Text& text : drawing.texts) {
      CAPTURE(text.words);
      CHECK(drawing.paper.contains(text.box));
      for (const Text& other : drawing.texts) {
        CAPTURE(other.words);
        if (&other != &text) CHECK_FALSE(text.box.overlaps(other.box));
      }
      for (const Box& frame : drawing.frames) {
        CHECK((text.words == "nothing to draw" || !text.box.overlaps(frame)));
      }
      if (text.bold) titles += text.words;
    }
    for (const Plot& plot : figure.panels) expected += plot.title;
    std::erase(titles, ' ');
    std::erase(expected, ' ');
    CHECK(titles == expected);
  }
}

TEST_CASE("a legend of twelve curves leaves the figure to its curves") {
  Plot plot{"Twelve", {"step", "updates"}, {"loss", "nats"}, {}, ""};
  for (int i = 0; i < 12; ++i) {
    for (const Origin origin : {Origin::predicted, Origin::measured}) {
      plot.series.push_back(
          {"placement number " + std::to_string(i), origin, {{0, 1. * i}, {9, 2. * i}}, i});
    }
  }
  const Drawing drawing = read(to_svg({"", {plot}}));
  REQUIRE(drawing.legends.size() == 12);
  double least = 1e9, most = 0;
  for (const Box& box : drawing.legends) {
    least = std::min(least, box.top);
    most = std::max(most, box.bottom);
  }
  CHECK(3 * (most - least) < drawing.paper.bottom);
  const Box frame = drawing.frames.front();
  CHECK(2 * (frame.right - frame.left) * (frame.bottom - frame.top) >
        drawing.paper.right * drawing.paper.bottom);
}

TEST_CASE("ticks are even and round on any range") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> real(-1, 1);
  for (int i = 0; i < 3000; ++i) {
    const bool log = i % 2 == 0;
    Range range{};
    range.least =
        log ? std::pow(10, 12 * real(random)) : real(random) * std::pow(10, 12 * real(random));
    range.most = log ? range.least * std::pow(10, 6 * std::abs(real(random)) + 0.01)
                     : range.least + std::abs(range.least) * std::pow(10, 4 * real(random));
    CAPTURE(range.least);
    CAPTURE(range.most);
    const Axis axis{"x", "", log ? AxisScale::logarithmic : AxisScale::linear};
    for (const int most : {2, 4, 6, 10}) {
      CAPTURE(most);
      const std::vector<Tick> ticks = ticks_of(axis, range, most);
      CHECK(static_cast<int>(ticks.size()) <= most + 3);
      if (most >= 4) CHECK(ticks.size() >= 2);
      CHECK(is_even(ticks));
      std::set<std::string> labels;
      for (const Tick& tick : ticks) labels.insert(tick.label);
      CHECK(labels.size() == ticks.size());
    }
  }
  const Axis whole{.label = "step", .unit = "updates", .whole = true};
  for (const Tick& tick : ticks_of(whole, {1, 2}, 8)) CHECK(tick.at == std::round(tick.at));
}

TEST_CASE("a run that explodes leaves the axis to the others, and the note says how far") {
  Plot plot{"", {"step", "updates"}, {"loss", "nats"}, {}, ""};
  plot.series = {{"pre", Origin::measured, {{0, 4}, {9, 3}}, 0, true},
                 {"post", Origin::measured, {{0, 4.2}, {9, 1e6}}, 1, true},
                 {"", Origin::measured, {{0, 4.1}, {9, 2e8}}, 1, true},
                 {"words", Origin::exact, {{0, 3.5}, {9, 3.5}}, 2, false}};
  let_outliers_leave(plot);
  CHECK(plot.y.most < 5);
  CHECK(full_note(plot) == "Beyond the axis, with an arrow at its edge: post (up to 2e8).");
  // Neither one curve alone, nor all of like size, nor what is not measured.
  Plot alone = plot;
  alone.y = {"loss", "nats"};
  alone.series.erase(alone.series.begin(), alone.series.begin() + 1);
  alone.series.pop_back();
  let_outliers_leave(alone);
  CHECK(full_note(alone) == "");
  Plot exact = plot;
  exact.y = {"loss", "nats"};
  for (Series& series : exact.series) series.origin = Origin::exact;
  let_outliers_leave(exact);
  CHECK(full_note(exact) == "");
  Plot infinite = plot;
  infinite.series[1].points[1].y = std::numeric_limits<double>::infinity();
  CHECK(full_note(infinite).find("post (up to infinity)") != std::string::npos);
}

}  // namespace scalecalc::report
