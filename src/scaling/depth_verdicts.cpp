#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"
#include "scalecalc/scaling.hpp"

namespace scalecalc {
namespace {

constexpr double kFar = 1e3;        ///< past this factor a signal has exploded or vanished
constexpr double kOneToken = 0.99;  ///< cosine of tokens that have become one
constexpr double kNoPower = 0.01;   ///< of ln E x^2 a step: below, growth is no power of depth
/// Identity weights of stacks with norms behind their sums: below the first, small runs need a
/// smaller learning rate; below the second they stand still for their first 300 steps at any
/// (docs/theory/scaling.md#trained-weight).
constexpr double kSmallSteps = 0.1, kForgotten = 0.01;

using OfSite = std::function<double(const Site&)>;
using Stream = std::vector<const Site*>;

bool is_encoders(const Site& site) {
  return site.path.starts_with("encoder.");
}

Stream stream_of(const Trace& trace, bool encoder) {
  std::vector<std::string> kinds;
  Stream sites, stream;
  for (const Site& site : trace.sites) {
    if (is_encoders(site) != encoder) continue;
    kinds.push_back(site.kind);
    sites.push_back(&site);
  }
  for (const std::size_t at : stream_sites(kinds)) stream.push_back(sites[at]);
  return stream;
}

/// " and doubles every 3.1 steps", from the second half, where transients are over.
std::string growth_of(const Stream& stream, const OfSite& value) {
  const std::size_t half = stream.size() / 2, steps = stream.size() - 1 - half;
  if (steps < 2) return {};
  const double from = value(*stream[half]), to = value(*stream.back());
  if (!(from > 0) || !(to > 0)) return {};
  const double log_step = std::log(to / from) / static_cast<double>(steps);
  if (std::fabs(log_step) < kNoPower) return {};
  return fmt::format("; it {} every {:.3g} steps", log_step > 0 ? "doubles" : "halves",
                     std::log(2.0) / std::fabs(log_step));
}

/// Where `value` first leaves [start/kFar, start kFar], walking through the stream.
void judge_size(const Stream& stream, const OfSite& value, const std::string& name,
                const std::string& prefix, const std::string& origin,
                std::vector<DepthVerdict>& verdicts) {
  const double start = value(*stream.front());
  if (!(start > 0)) return;
  for (const Site* site : stream) {
    const double ratio = value(*site) / start;
    if (ratio <= kFar && ratio >= 1 / kFar) continue;
    const bool grows = ratio > kFar;
    verdicts.push_back(
        {prefix + (grows ? "explodes" : "vanishes"), site->path,
         fmt::format("{} is {} {:.3g} of {} at {}{}", name, grows ? "past" : "below",
                     grows ? kFar : 1 / kFar, origin, site->path, growth_of(stream, value))});
    return;
  }
}

void judge_rank(const Stream& stream, std::vector<DepthVerdict>& verdicts) {
  for (const Site* site : stream) {
    if (!site->cross.is_known() || !(site->cosine() > kOneToken)) continue;
    verdicts.push_back(
        {"collapses in rank", site->path,
         fmt::format("the cosine of two tokens passes {} at {}, from {:.3g} at {}", kOneToken,
                     site->path, stream.front()->cosine(), stream.front()->path)});
    return;
  }
}

/// Where norms stand before all that reads the stream, its size is of no effect, and the gradient
/// counts for a change relative to it: E (dL/dx)^2 E x^2.
void judge_stream(Stream stream, bool norm_before_readers, std::vector<DepthVerdict>& verdicts) {
  if (stream.empty()) return;
  if (!norm_before_readers)
    judge_size(
        stream, [](const Site& site) { return site.second.value; }, "E x^2", "", "its start",
        verdicts);
  judge_rank(stream, verdicts);
  std::ranges::reverse(stream);
  if (!stream.front()->grad_second.is_known()) return;
  judge_size(
      stream,
      [&](const Site& site) {
        return site.grad_second.value * (norm_before_readers ? site.second.value : 1);
      },
      norm_before_readers ? "E (dL/dx)^2 E x^2" : "E (dL/dx)^2", "gradient ",
      "that at the last layer", verdicts);
}

/// Branch over skip, in second moments, of each sum.
std::vector<double> odds_of(const DepthProfile& profile) {
  std::vector<double> odds;
  for (const SublayerShare& one : profile.sublayers) odds.push_back(one.share / (1 - one.share));
  return odds;
}

/// ln of the identity weight with each branch times `factor`, its size as it is.
double log_weight(const std::vector<double>& odds, double factor) {
  double sum = 0;
  for (const double one : odds) sum -= 0.5 * std::log1p(one * factor * factor);
  return sum;
}

/// The factor of branches against the skip that leaves half of the input's amplitude.
double halving_factor(const std::vector<double>& odds) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (log_weight(odds, middle) < std::log(0.5) ? high : low) = middle;
  }
  return low;
}

/// The stack of a profile as a model of one stack; none of a list of layers.
std::optional<ModelSpec> stack_of(const ModelSpec& spec, const DepthProfile& profile) {
  if (spec.kind == ModelSpec::Kind::layers) return std::nullopt;
  if (!spec.encoder_decoder) return spec;
  return profile.stack.empty() ? decoder_of(spec) : encoder_of(spec);
}

double scale_at(const std::optional<Expr>& scale, std::int64_t layers) {
  return scale ? evaluate(*scale, {{"N", static_cast<double>(layers)}}) : 1;
}

/// The pair that holds a step's loss change, where the placement has an equation, and what it keeps
/// of the input: both matrices of a branch have the gain lambda, so that its second moment goes as
/// lambda^4 where it is homogeneous.
std::string solved_pair(const ModelSpec& spec, const std::vector<double>& odds) {
  ModelSpec solved = spec;
  solved.alpha.reset();
  solved.lambda.reset();
  try {
    solve_scales(solved);
  } catch (const Error&) {
    return {};
  }
  const double alpha = scale_at(solved.alpha, spec.layers),
               lambda = scale_at(solved.lambda, spec.layers);
  const double gain = lambda / scale_at(spec.lambda, spec.layers);
  const double factor = gain * gain * scale_at(spec.alpha, spec.layers) / alpha;
  return fmt::format(
      "alpha = {:.3g} with lambda = {:.3g} keeps about {:.2g} and holds the loss "
      "change of a step of {}; ",
      alpha, lambda, std::exp(log_weight(odds, factor)), spec.optimizer);
}

/// What keeps half of the input, in numbers of this model.
std::string remedy(const ModelSpec& whole, const DepthProfile& profile) {
  const std::vector<double> odds = odds_of(profile);
  const bool is_finite = std::ranges::all_of(odds, [](double one) { return std::isfinite(one); });
  if (odds.empty() || !is_finite) return {};
  const double factor = halving_factor(odds);
  const std::optional<ModelSpec> spec = stack_of(whole, profile);
  if (!spec) return fmt::format("skips times {:.3g} keep half of it", 1 / factor);
  const double alpha = scale_at(spec->alpha, spec->layers);
  const std::string half =
      fmt::format("alpha = {:.3g} instead of {:.3g} keeps half of it", alpha / factor, alpha);
  if (spec->placement != Placement::post) return half;
  // On a stream of 1 that nothing divides the same branches add up.
  double branches = 0;
  for (const double one : odds) branches += one * alpha * alpha;
  return half + "; " + solved_pair(*spec, odds) +
         fmt::format("placement pre keeps about {:.2g}", 1 / std::sqrt(1 + branches));
}

/// The sum at which the identity weight falls below `bound`; empty where sums are not told apart.
std::string falls_below_at(const DepthProfile& profile, double bound) {
  const auto found = std::ranges::find_if(
      profile.sublayers, [bound](const SublayerShare& one) { return one.identity < bound; });
  return found == profile.sublayers.end() ? std::string() : found->path;
}

/// Norms behind sums divide what older sums and the input have, and their gradients, once more at
/// each: the identity weight falls as a power of their number, elsewhere as its root.
void judge_weight(const ModelSpec& spec, const DepthProfile& profile,
                  std::vector<DepthVerdict>& verdicts) {
  const double weight = profile.identity_weight;
  if (!profile.norm_behind_sums || !(weight < kSmallSteps)) return;
  const bool forgets = weight < kForgotten;
  const double bound = forgets ? kForgotten : kSmallSteps;
  verdicts.push_back(
      {forgets ? "forgets its input" : "wants small steps", falls_below_at(profile, bound),
       fmt::format("the norms behind {} sums leave {:.2g} of the input's amplitude; below {:g} "
                   "small runs {}",
                   profile.sums, weight, bound,
                   forgets ? "stand still for hundreds of steps at any learning rate"
                           : "need a warm-up or a third of the learning rate"),
       remedy(spec, profile)});
}

}  // namespace

std::vector<DepthVerdict> depth_verdicts(const ModelSpec& spec, const Trace& trace,
                                         const std::vector<DepthProfile>& profiles) {
  std::vector<DepthVerdict> verdicts;
  for (const bool encoder : {true, false}) {
    const auto profile = std::ranges::find_if(
        profiles, [&](const DepthProfile& one) { return one.stack.empty() != encoder; });
    const bool found = profile != profiles.end();
    judge_stream(stream_of(trace, encoder), found && profile->norm_before_readers, verdicts);
    if (found) judge_weight(spec, *profile, verdicts);
  }
  if (verdicts.empty())
    verdicts.push_back({"ok", "", "no signal leaves a factor of 1000 of its start"});
  return verdicts;
}

}  // namespace scalecalc
