#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "cli/propagate/document.hpp"

namespace scalecalc::cli {
namespace {

using report::Table;
using report::Value;

std::string stack_name(const DepthProfile& stack) {
  return stack.stack.empty() ? "stream" : stack.stack;
}

/// The blocks with the most and the least of the squared gradient.
struct GradientEnds {
  const BlockShare *most, *least;
  Value ratio() const {
    return least->gradient > 0 ? Value(most->gradient / least->gradient) : Value();
  }
};

/// Nothing where gradients are not known.
std::optional<GradientEnds> gradient_ends(const DepthProfile& stack) {
  if (stack.blocks.empty() || std::isnan(stack.blocks.front().gradient)) return std::nullopt;
  const auto [least, most] =
      std::ranges::minmax_element(stack.blocks, std::less<>(), &BlockShare::gradient);
  return GradientEnds{&*most, &*least};
}

Value share_text(const BlockShare& block) {
  return fmt::format("{:.3g}% {}", 100 * block.gradient, block.path);
}

}  // namespace

void judge_depth(const Network& network, PropagateAnswer& answer) {
  answer.stacks = depth_profiles(network, answer.trace);
  answer.verdicts = depth_verdicts(answer.spec, answer.trace, answer.stacks);
}

Value stacks_value(const std::vector<DepthProfile>& stacks) {
  Value list = Value::array();
  for (const DepthProfile& stack : stacks) {
    Value entry = Value::object();
    entry["stack"] = stack_name(stack);
    entry["sums"] = static_cast<std::int64_t>(stack.sums);
    entry["identity_weight"] = stack.identity_weight;
    entry["effective_depth"] = stack.effective_depth;
    entry["block_gradient"] = stack.block_gradient;
    const std::optional<GradientEnds> ends = gradient_ends(stack);
    entry["gradient_ratio"] = ends ? ends->ratio() : Value();
    Value blocks = Value::array();
    for (const BlockShare& block : stack.blocks) {
      Value one = Value::object();
      one["path"] = block.path;
      one["identity"] = block.identity;
      one["gradient_share"] = block.gradient;
      blocks.push_back(std::move(one));
    }
    entry["blocks"] = std::move(blocks);
    list.push_back(std::move(entry));
  }
  return list;
}

Table stacks_table(const std::vector<DepthProfile>& stacks) {
  Table table{{"stack", "sums", "identity weight", "effective depth", "most gradient",
               "least gradient", "ratio"},
              {}};
  for (const DepthProfile& stack : stacks) {
    const std::optional<GradientEnds> ends = gradient_ends(stack);
    table.rows.push_back(
        {stack_name(stack), static_cast<std::int64_t>(stack.sums),
         report::known(stack.identity_weight), report::known(stack.effective_depth),
         ends ? share_text(*ends->most) : Value(), ends ? share_text(*ends->least) : Value(),
         ends ? ends->ratio() : Value()});
  }
  return table;
}

Table verdicts_table(const std::vector<DepthVerdict>& verdicts) {
  Table table{{"depth", "from", "why"}, {}};
  for (const DepthVerdict& verdict : verdicts)
    table.rows.push_back(
        {verdict.what, verdict.site.empty() ? Value() : Value(verdict.site), verdict.text});
  return table;
}

Table changes_table(const std::vector<DepthVerdict>& verdicts) {
  Table table{{"depth", "what would help"}, {}};
  for (const DepthVerdict& verdict : verdicts)
    if (!verdict.change.empty()) table.rows.push_back({verdict.what, verdict.change});
  return table;
}

Value verdicts_value(const std::vector<DepthVerdict>& verdicts) {
  Value list = Value::array();
  for (const DepthVerdict& verdict : verdicts) {
    Value entry = Value::object();
    entry["what"] = verdict.what;
    entry["site"] = verdict.site.empty() ? Value() : Value(verdict.site);
    entry["text"] = verdict.text;
    entry["change"] = verdict.change.empty() ? Value() : Value(verdict.change);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace scalecalc::cli
