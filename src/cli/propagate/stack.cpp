#include "cli/propagate/stack.hpp"

#include <string_view>

namespace scalecalc::cli {
namespace {

constexpr std::size_t kWhole = 40;  // rows that a person reads as they are
constexpr std::size_t kEnds = 2;    // blocks kept at either end

/// "block[3]" of "block[3].attn.q", "encoder.block[3]" of an encoder's; "head" of "head second".
std::string_view block_of(std::string_view path) {
  const std::size_t inside = path.starts_with("encoder") ? path.find('.') + 1 : 0;
  return path.substr(0, path.find_first_of(". ", inside));
}

/// "block" of "block[3]"; empty where there is no number.
std::string stem_of(const std::string& block) {
  const std::size_t bracket = block.rfind('[');
  return bracket == std::string::npos ? std::string() : block.substr(0, bracket);
}

struct Block {
  std::string name;
  std::size_t begin = 0, end = 0;
};

std::vector<Block> blocks_of(const std::vector<std::string>& paths) {
  std::vector<Block> blocks;
  for (std::size_t row = 0; row < paths.size(); ++row) {
    const std::string_view name = block_of(paths[row]);
    if (blocks.empty() || blocks.back().name != name)
      blocks.push_back({std::string(name), row, row});
    blocks.back().end = row + 1;
  }
  return blocks;
}

class Shortener {
 public:
  Shortener(const std::vector<std::string>& paths, const std::function<bool(std::size_t)>& keep)
      : blocks_(blocks_of(paths)), keep_(keep) {}

  std::vector<StackLine> lines() {
    for (std::size_t first = 0; first < blocks_.size();) {
      const std::size_t last = end_of_run(first);
      add_run(first, last);
      first = last;
    }
    return std::move(lines_);
  }

 private:
  std::size_t end_of_run(std::size_t first) const {
    const std::string stem = stem_of(blocks_[first].name);
    std::size_t last = first + 1;
    while (!stem.empty() && last < blocks_.size() && stem_of(blocks_[last].name) == stem) ++last;
    return last;
  }

  void add_run(std::size_t first, std::size_t last) {
    const bool is_long = last - first > 2 * kEnds + 1;
    for (std::size_t i = first; i < last; ++i) {
      const bool inside = is_long && i >= first + kEnds && i + kEnds < last;
      inside ? leave_out(blocks_[i]) : add_rows(blocks_[i]);
    }
  }

  void add_rows(const Block& block) {
    for (std::size_t row = block.begin; row < block.end; ++row)
      lines_.push_back({row, row + 1, false, {}});
  }

  void leave_out(const Block& block) {
    bool is_told = false;  // by the line's text
    for (std::size_t row = block.begin; row < block.end; ++row) {
      if (keep_ && keep_(row)) {
        lines_.push_back({row, row + 1, false, {}});
        continue;
      }
      if (lines_.empty() || !lines_.back().left_out) {
        first_left_out_ = block.name;
        lines_.push_back({row, row, true, "... " + block.name});
        is_told = true;
      }
      lines_.back().end = row + 1;
      if (!is_told) lines_.back().text = "... " + first_left_out_ + " to " + block.name;
      is_told = true;
    }
  }

  std::vector<Block> blocks_;
  const std::function<bool(std::size_t)>& keep_;
  std::string first_left_out_;
  std::vector<StackLine> lines_;
};

}  // namespace

std::vector<StackLine> shorten_stack(const std::vector<std::string>& paths,
                                     const std::function<bool(std::size_t row)>& keep) {
  if (paths.size() > kWhole) return Shortener(paths, keep).lines();
  std::vector<StackLine> lines;
  for (std::size_t row = 0; row < paths.size(); ++row) lines.push_back({row, row + 1, false, {}});
  return lines;
}

}  // namespace scalecalc::cli
