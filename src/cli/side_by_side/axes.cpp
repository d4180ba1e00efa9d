#include "cli/side_by_side/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/side_by_side/document.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::size_t kMostCombinations = 64;

/// Whether the text is one value whatever commas it has: the path of a file.
bool is_file(const Command& command, const Axis& axis, const std::string& text) {
  const auto type = command.types.find(axis.parsed);
  std::error_code ignored;
  return type != command.types.end() && type->second.path == ValueType::Path::file &&
         std::filesystem::exists(text, ignored);
}

std::vector<std::string> values_of(const Command& command, const Axis& axis) {
  const std::vector<std::string>& words = axis.parsed->results();
  if (axis.parsed->get_positional() || words.empty()) return words;
  return is_file(command, axis, words.back()) ? words : split_list(words.back());
}

void check_entries(const GivenAxis& axis) {
  for (auto value = axis.values.begin(); value != axis.values.end(); ++value) {
    if (value->empty())
      throw Error(ErrorKind::usage, "an entry of a list is empty", axis.option,
                  "give a value between the commas");
    if (std::find(axis.values.begin(), value, *value) != value)
      throw Error(ErrorKind::usage, "an entry of a list comes twice",
                  axis.option + " " + base::shortened(*value), "give each value once");
  }
}

struct Combinations {
  std::vector<GivenAxis> axes;        ///< those with several values
  std::vector<std::string*> targets;  ///< what a run reads, of each

  std::size_t count() const {
    std::size_t product = 1;
    for (const GivenAxis& axis : axes) {
      product *= axis.values.size();
      if (product > (std::size_t{1} << 40)) break;
    }
    return product;
  }
  /// Sets the targets to the values of that combination, the last axis varying first.
  std::vector<std::string> choose(std::size_t index) const {
    std::vector<std::string> values(axes.size());
    for (std::size_t k = axes.size(); k-- > 0;) {
      const std::size_t size = axes[k].values.size();
      values[k] = *targets[k] = axes[k].values[index % size];
      index /= size;
    }
    return values;
  }
};

Combinations combinations_of(const Command& command) {
  Combinations found;
  for (const Axis& axis : command.axes) {
    GivenAxis given{axis.name, axis.option, values_of(command, axis)};
    if (given.values.size() < 2) continue;
    check_entries(given);
    found.axes.push_back(std::move(given));
    found.targets.push_back(axis.value);
  }
  return found;
}

void check(const Command& command, const Lists& lists, const Combinations& found) {
  if (found.axes.empty()) return;
  for (const std::string& option : lists.alone)
    if (command.get_option(option)->count() > 0)
      throw Error(ErrorKind::usage, option + " belongs to one result, and a list asks for several",
                  found.axes.front().option, "leave " + option + " out, or give one value");
  if (found.count() <= kMostCombinations) return;
  std::string product;
  for (const GivenAxis& axis : found.axes)
    product +=
        fmt::format("{}{} of {}", product.empty() ? "" : ", ", axis.values.size(), axis.option);
  throw Error(ErrorKind::usage,
              fmt::format("the lists ask for {} combinations, and {} is the most", found.count(),
                          kMostCombinations),
              product, "give shorter lists");
}

/// The error of a run, at the values that it had.
Error at(const Error& error, const std::vector<GivenAxis>& axes,
         const std::vector<std::string>& values) {
  std::string where = error.where();
  for (std::size_t k = 0; k < axes.size(); ++k)
    where += fmt::format("{}{} {}",
                         k > 0           ? " "
                         : where.empty() ? "at "
                                         : "; at ",
                         axes[k].option, base::shortened(values[k]));
  return Error(error.kind(), error.message(), where, error.hint());
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : text) {
    if (letter == '(' || letter == '[' || letter == '{') ++depth;
    if (letter == ')' || letter == ']' || letter == '}') --depth;
    if (letter == ',' && depth == 0)
      parts.emplace_back();
    else if (letter != ' ' || !parts.back().empty())
      parts.back() += letter;
  }
  return parts;
}

int run_combinations(const Command& command, const Lists& lists, Context& context,
                     const std::function<int()>& run) {
  const Combinations found = combinations_of(command);
  check(command, lists, found);
  if (found.count() < lists.least)
    throw Error(ErrorKind::usage, "there is nothing to compare", "scalecalc " + command.get_name(),
                "for example " + command.examples.front());
  if (found.axes.empty()) return run();
  std::vector<AxesRun> runs;
  Kept kept;
  int code = 0;
  for (std::size_t i = 0; i < found.count(); ++i) {
    AxesRun one{found.choose(i), {}, {}};
    context.keep(&kept);
    try {
      code = std::max(code, run());
    } catch (const Error& error) {
      throw at(error, found.axes, one.values);
    }
    one.document = std::move(kept.document);
    one.figure = std::move(kept.figure);
    runs.push_back(std::move(one));
  }
  context.keep(nullptr);
  report::Figure figure;
  if (kept.plot != nullptr) figure = side_by_side_figure(found.axes, runs);
  context.emit(side_by_side_document(found.axes, runs, lists.parts, context.format()));
  if (kept.plot != nullptr) context.draw(*kept.plot, figure);
  return code;
}

}  // namespace scalecalc::cli
