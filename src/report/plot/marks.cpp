#include "report/plot/marks.hpp"

#include <fmt/format.h>

namespace scalecalc::report {
namespace {

constexpr double kRadius = 3.6;

/// M x y, then the corners as offsets from the one before, in radii.
struct Shape {
  bool filled;
  const char* corners;  ///< fmt pattern with {0} the radius, {1} half, {2} twice
};

const Shape kShapes[] = {
    {true, "m-{0} 0a{0} {0} 0 1 0 {2} 0a{0} {0} 0 1 0-{2} 0z"},   // disc
    {false, "m-{0}-{0}h{2}v{2}h-{2}z"},                           // square
    {true, "m0-{0}l{0} {2}h-{2}z"},                               // triangle
    {false, "m0-{2}l{0} {2}-{0} {2}-{0}-{2}z"},                   // diamond
    {false, "m-{0} 0h{2}m-{0}-{0}v{2}"},                          // plus
    {false, "m-{0}-{0}l{2} {2}m0-{2}l-{2} {2}"},                  // cross
    {true, "m0 {0}l{0}-{2}h-{2}z"},                               // triangle downwards
    {false, "m-{0} 0a{0} {0} 0 1 0 {2} 0a{0} {0} 0 1 0-{2} 0z"},  // circle
};

}  // namespace

std::string mark_path(int mark, double x, double y) {
  const double radius = mark == 3 ? kRadius * 0.75 : kRadius;
  return fmt::format("M{:.1f} {:.1f}", x, y) +
         fmt::format(fmt::runtime(kShapes[mark].corners), radius, radius / 2, 2 * radius);
}

bool is_filled(int mark) {
  return kShapes[mark].filled;
}

std::string arrow_path(double x, double edge, bool up) {
  const int in = up ? 1 : -1;
  return fmt::format("M{:.1f} {:.1f}v{}m-4 {}l4 {}l4 {}", x, edge + 12 * in, -11 * in, 4 * in,
                     -4 * in, 4 * in);
}

}  // namespace scalecalc::report
