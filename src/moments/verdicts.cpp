#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "scalecalc/moments.hpp"

namespace scalecalc {
namespace {

constexpr double far = 1e3;         ///< past this factor a signal has exploded or vanished
constexpr double same = 0.99;       ///< cosine of tokens that have become one
constexpr double geometric = 0.01;  ///< of ln E x^2 a step: below, growth is no power of depth

using Value = std::function<double(const Site&)>;

std::vector<const Site*> stream_of(const Trace& trace) {
  std::vector<std::string> kinds;
  for (const Site& site : trace.sites) kinds.push_back(site.kind);
  std::vector<const Site*> stream;
  for (const std::size_t at : stream_sites(kinds)) stream.push_back(&trace.sites[at]);
  return stream;
}

/// " and doubles every 3.1 steps", from the second half, where transients are over.
std::string rate(const std::vector<const Site*>& stream, const Value& value) {
  const std::size_t half = stream.size() / 2, steps = stream.size() - 1 - half;
  if (steps < 2) return {};
  const double from = value(*stream[half]), to = value(*stream.back());
  if (!(from > 0) || !(to > 0)) return {};
  const double log_step = std::log(to / from) / static_cast<double>(steps);
  if (std::fabs(log_step) < geometric) return {};
  return fmt::format("; it {} every {:.3g} steps", log_step > 0 ? "doubles" : "halves",
                     std::log(2.0) / std::fabs(log_step));
}

/// Where `value` first leaves [start/far, start far], walking through the stream.
void judge_size(const std::vector<const Site*>& stream, const Value& value, const std::string& name,
                const std::string& prefix, const std::string& origin,
                std::vector<DepthVerdict>& verdicts) {
  const double start = value(*stream.front());
  if (!(start > 0)) return;
  for (const Site* site : stream) {
    const double ratio = value(*site) / start;
    if (ratio <= far && ratio >= 1 / far) continue;
    const bool grows = ratio > far;
    verdicts.push_back(
        {prefix + (grows ? "explodes" : "vanishes"), site->path,
         fmt::format("{} is {} {:.3g} of {} at {}{}", name, grows ? "past" : "below",
                     grows ? far : 1 / far, origin, site->path, rate(stream, value))});
    return;
  }
}

void judge_rank(const std::vector<const Site*>& stream, std::vector<DepthVerdict>& verdicts) {
  for (const Site* site : stream) {
    if (!site->cross.is_known() || !(site->cosine() > same)) continue;
    verdicts.push_back(
        {"collapses in rank", site->path,
         fmt::format("the cosine of two tokens passes {} at {}, from {:.3g} at {}", same,
                     site->path, stream.front()->cosine(), stream.front()->path)});
    return;
  }
}

}  // namespace

std::vector<std::size_t> stream_sites(const std::vector<std::string>& kinds) {
  std::vector<std::size_t> stream;
  for (const std::string kind : {"residual", "activation", ""}) {
    stream.clear();
    for (std::size_t i = 0; i < kinds.size(); ++i)
      if (kind.empty() || kinds[i] == kind) stream.push_back(i);
    if (stream.size() > 1) break;
  }
  return stream;
}

std::vector<DepthVerdict> depth_verdicts(const Trace& trace) {
  std::vector<DepthVerdict> verdicts;
  std::vector<const Site*> stream = stream_of(trace);
  if (!stream.empty()) {
    judge_size(
        stream, [](const Site& site) { return site.second.value; }, "E x^2", "", "its start",
        verdicts);
    judge_rank(stream, verdicts);
    std::reverse(stream.begin(), stream.end());
    if (stream.front()->grad_second.is_known())
      judge_size(
          stream, [](const Site& site) { return site.grad_second.value; }, "E (dL/dx)^2",
          "gradient ", "that at the last layer", verdicts);
  }
  if (verdicts.empty())
    verdicts.push_back({"ok", "", "no signal leaves a factor of 1000 of its start"});
  return verdicts;
}

}  // namespace scalecalc
