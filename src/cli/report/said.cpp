#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/report/course.hpp"

namespace scalecalc::cli {
namespace {

/// Standard errors beyond which two means differ.
constexpr double kApart = 2;
/// Norms between which a gradient is said to stay healthy.
constexpr double kHealthyFrom = 1e-3, kHealthyTo = 10;

/// One placement at one depth.
struct Side {
  const TrainCell* cell = nullptr;
  const CourseCell* course = nullptr;
  /// Of the norms of its first block and its last at the first step, mean over the seeds.
  double first_to_last = std::nan("");

  double error() const { return std::isnan(cell->loss_error) ? 0 : cell->loss_error; }
  bool all_converged() const { return cell->converged == cell->runs; }
  bool is_healthy() const {
    return course->block_least >= kHealthyFrom && course->block_most <= kHealthyTo;
  }
};

double first_to_last(const TrainFolder& folder, const TrainCell& cell) {
  std::vector<double> ratios;
  for (const TrainRun& run : folder.runs) {
    if (run.group != cell.group || run.layers != cell.layers || run.records.empty()) continue;
    const LayerNorms& norms = run.records.front().gradient;
    std::vector<double> blocks;
    for (std::size_t i = 0; i < norms.layers.size(); ++i)
      if (norms.layers[i].starts_with("block[")) blocks.push_back(norms.norms[i]);
    if (!blocks.empty()) ratios.push_back(blocks.front() / blocks.back());
  }
  return mean_of(ratios).value;
}

std::string as_shown(double value) {
  return std::isfinite(value) ? report::format_number(value, 3) : "-";
}

std::string perplexity(const Side& side) {
  return fmt::format("{} ({}/{} converged)", as_shown(side.cell->perplexity), side.cell->converged,
                     side.cell->runs);
}

std::string blocks_between(const Side& side) {
  return fmt::format("{} to {}", as_shown(side.course->block_least),
                     as_shown(side.course->block_most));
}

std::string rises(const Side& side) {
  return fmt::format("{} nats", as_shown(side.course->rises.value));
}

const char* yes_if(bool holds) {
  return holds ? "yes" : "no";
}

/// Losses of what came to a number, apart by more than their errors.
bool is_worse(const Side& a, const Side& b) {
  if (a.cell->converged != b.cell->converged) return a.cell->converged < b.cell->converged;
  return a.cell->loss - b.cell->loss > kApart * std::hypot(a.error(), b.error());
}

bool has_more_rises(const Side& a, const Side& b) {
  const auto error = [](const Side& side) {
    return std::isnan(side.course->rises.error) ? 0 : side.course->rises.error;
  };
  if (std::isnan(a.course->rises.value)) return !std::isnan(b.course->rises.value);
  return a.course->rises.value - b.course->rises.value > kApart * std::hypot(error(a), error(b));
}

class Sayings {
 public:
  Sayings(const TrainFolder& folder, const std::vector<TrainCell>& cells,
          const std::vector<CourseCell>& courses)
      : folder_(folder), cells_(cells), courses_(courses) {}

  report::Table table() const {
    report::Table made{{"said", "layers", "post", "pre", "here"}, {}};
    std::vector<std::int64_t> depths;
    for (const TrainCell& cell : cells_)
      if (cell.group == "post" && side("pre", cell.layers)) depths.push_back(cell.layers);
    if (depths.size() < 2) return made;
    const auto [least, most] = std::ranges::minmax(depths);
    add_shallow(*side("post", least), *side("pre", least), made);
    add_deep(*side("post", most), *side("pre", most), made);
    return made;
  }

 private:
  std::optional<Side> side(const std::string& group, std::int64_t layers) const {
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (cells_[i].group == group && cells_[i].layers == layers)
        return Side{&cells_[i], &courses_[i], first_to_last(folder_, cells_[i])};
    return {};
  }

  static void add(const char* said, const Side& post, const std::string& of_post,
                  const std::string& of_pre, bool holds, report::Table& table) {
    table.rows.push_back({said, post.cell->layers, of_post, of_pre, yes_if(holds)});
  }

  void add_shallow(const Side& post, const Side& pre, report::Table& table) const {
    add("shallow: they end alike", post, perplexity(post), perplexity(pre),
        !is_worse(post, pre) && !is_worse(pre, post), table);
    const double steps = post.cell->steps_to_target, others = pre.cell->steps_to_target;
    add("shallow: they come to the loss as soon", post, as_shown(steps), as_shown(others),
        std::fabs(steps - others) <= static_cast<double>(folder_.record_every), table);
  }

  static void add_deep(const Side& post, const Side& pre, report::Table& table) {
    add("deep: post ends worse, or does not train", post, perplexity(post), perplexity(pre),
        is_worse(post, pre), table);
    add("deep: pre still trains", post, perplexity(post), perplexity(pre), pre.all_converged(),
        table);
    const double steps = post.cell->steps_to_target, others = pre.cell->steps_to_target;
    add("deep: pre comes to the loss sooner", post, as_shown(steps), as_shown(others),
        std::isfinite(others) && !(steps <= others), table);
    add("deep: post's loss swings more", post, rises(post), rises(pre), has_more_rises(post, pre),
        table);
    add("deep: gradients of post's blocks leave 0.001 to 10, pre's do not", post,
        blocks_between(post), blocks_between(pre), !post.is_healthy() && pre.is_healthy(), table);
    add("pre: the first block's gradient is larger than the last one's", post,
        as_shown(post.first_to_last), as_shown(pre.first_to_last), pre.first_to_last > 1, table);
  }

  const TrainFolder& folder_;
  const std::vector<TrainCell>& cells_;
  const std::vector<CourseCell>& courses_;
};

}  // namespace

report::Table said_table(const TrainFolder& folder, const std::vector<TrainCell>& cells,
                         const std::vector<CourseCell>& courses) {
  return Sayings(folder, cells, courses).table();
}

}  // namespace scalecalc::cli
