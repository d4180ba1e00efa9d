#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "passes/optimizer_rules.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/optimizers.hpp"

namespace scalecalc {

void passes::validate(const Schedule& schedule) {
  const auto wrong = [](const std::string& what, const std::string& hint) {
    return Error(ErrorKind::input, what, "schedule", hint);
  };
  if (schedule.warmup < 0) {
    throw wrong("warmup is " + std::to_string(schedule.warmup), "use 0 steps or more");
  }
  if (schedule.kind != Schedule::Kind::linear && schedule.kind != Schedule::Kind::cosine) return;
  if (schedule.steps <= schedule.warmup) {
    throw wrong("steps is " + std::to_string(schedule.steps),
                "use more than the " + std::to_string(schedule.warmup) + " of the warm-up");
  }
  if (!(schedule.final >= 0.0 && schedule.final <= 1.0)) {
    throw wrong(fmt::format("final is {}", schedule.final), "use 0 to 1");
  }
}

double Schedule::at(std::int64_t step) const {
  passes::validate(*this);
  if (step < 1) {
    throw Error(ErrorKind::input, "the step is " + std::to_string(step), "schedule",
                "steps count from 1");
  }
  const auto t = static_cast<double>(step), begin = static_cast<double>(warmup);
  if (step < warmup) return t / begin;
  const double progress = std::min(1.0, (t - begin) / (static_cast<double>(steps) - begin));
  switch (kind) {
    case Kind::constant: return 1.0;
    case Kind::linear: return 1.0 - (1.0 - final) * progress;
    case Kind::cosine: return final + (1.0 - final) * 0.5 * (1.0 + std::cos(M_PI * progress));
    case Kind::inverse_sqrt: return std::sqrt(std::max(begin, 1.0) / t);
  }
  throw Error(ErrorKind::input, "the kind is unknown", "schedule", "use one of Schedule::Kind");
}

}  // namespace scalecalc
