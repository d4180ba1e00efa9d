#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "export/code_plan.hpp"
#include "names/prefixes.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc {
namespace export_room {
namespace {

/// Below this two numbers are one, computed twice.
constexpr double rounding = 1e-12;

std::vector<std::int64_t> numbers_in(const std::string& name) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, dot - at);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos)
      numbers.push_back(std::stoll(part));
    at = dot + 1;
  }
  return numbers;
}

/// Numbers that differ between the names of one pattern become {i}, {j}, ...; others stay.
void find_indices(std::vector<FilledTensor>& tensors) {
  std::map<std::string, std::vector<FilledTensor*>> alike;
  for (FilledTensor& tensor : tensors) alike[name_pattern(tensor.name)].push_back(&tensor);
  for (auto& [pattern, group] : alike) {
    const std::vector<std::int64_t> first = numbers_in(group.front()->name);
    std::vector<bool> varies(first.size(), false);
    for (const FilledTensor* tensor : group) {
      const std::vector<std::int64_t> numbers = numbers_in(tensor->name);
      for (std::size_t i = 0; i < first.size(); ++i)
        if (numbers[i] != first[i]) varies[i] = true;
    }
    std::string text;
    std::size_t at = 0;
    char letter = 'i';
    for (std::size_t i = 0; i < first.size(); ++i) {
      const std::size_t next = pattern.find("{i}", at);
      text += pattern.substr(at, next - at);
      text += varies[i] ? std::string{'{', letter++, '}'} : std::to_string(first[i]);
      at = next + 3;
    }
    text += pattern.substr(at);
    for (FilledTensor* tensor : group) {
      tensor->pattern = text;
      const std::vector<std::int64_t> numbers = numbers_in(tensor->name);
      for (std::size_t i = 0; i < first.size(); ++i)
        if (varies[i]) tensor->indices.push_back(numbers[i]);
    }
  }
}

FilledTensor filled(const LibraryTensor& tensor) {
  FilledTensor filled;
  filled.name = tensor.name;
  filled.shape = tensor.shape;
  filled.zero_row = tensor.zero_row;
  const bool is_constant = tensor.draw.kind == "constant";
  filled.fills = {{tensor.shape.empty() ? 1 : tensor.shape[0], tensor.draw.kind,
                   tensor.draw.numbers, is_constant ? tensor.draw.numbers[0] : tensor.std,
                   tensor.rule}};
  return filled;
}

double entries_of(const LibraryModel& model) {
  double all = 0;
  for (const LibraryTensor& tensor : model.tensors) {
    double entries = 1;
    for (const std::int64_t size : tensor.shape) entries *= static_cast<double>(size);
    all += entries;
  }
  return all;
}

/// The module that holds more than half of the tensors: the model without its head.
std::string own_prefix(const LibraryModel& model) {
  std::map<std::string, std::size_t> count;
  for (const LibraryTensor& tensor : model.tensors) {
    const std::size_t dot = tensor.name.find('.');
    if (dot == std::string::npos || tensor.name.find('.', dot + 1) == std::string::npos) continue;
    const std::string prefix = tensor.name.substr(0, dot + 1);
    if (2 * ++count[prefix] > model.tensors.size()) return prefix;
  }
  return {};
}

bool starts_alike(const PlannedParameter& a, const PlannedParameter& b) {
  return a.start == b.start && a.std == b.std && a.mean == b.mean;
}

/// Carries what options change in a plan over to the library's tensors.
class Changes {
 public:
  Changes(const NamedPlan& before, const NamedPlan& after, CodePlan& code)
      : before_(before), after_(after), code_(code) {
    for (FilledTensor& tensor : code.tensors)
      for (const std::string& name : names::bare_names(tensor.name, after.naming))
        tensors_.emplace(name, &tensor);
  }

  void carry_over() {
    for (const NamedTensor& tensor : after_.named.tensors) {
      const auto changed = [&](std::size_t part) { return !is_kept(part); };
      if (std::none_of(tensor.parts.begin(), tensor.parts.end(), changed)) continue;
      const auto found = tensors_.find(tensor.name);
      if (found == tensors_.end() || found->second->may_be_absent)
        for (const std::size_t part : tensor.parts) leave_out(part);
      else
        refill(*found->second, tensor);
    }
    for (const std::size_t part : after_.named.unnamed)
      if (!is_kept(part)) leave_out(part);
    for (const PlannedScale& scale : after_.plan.scales)
      if (!is_kept(scale)) code_.scales.push_back(scale);
  }

 private:
  bool is_kept(std::size_t part) const {
    return starts_alike(before_.plan.parameters[part], after_.plan.parameters[part]);
  }
  bool is_kept(const PlannedScale& scale) const {
    const std::vector<PlannedScale>& all = before_.plan.scales;
    return std::any_of(all.begin(), all.end(), [&](const PlannedScale& one) {
      return one.what == scale.what && one.pattern == scale.pattern && one.value == scale.value;
    });
  }
  /// The model has no such tensor: a head that is tied or absent, and what belongs to it, the shift
  /// of a norm.
  void leave_out(std::size_t part) {
    const PlannedParameter& parameter = after_.plan.parameters[part];
    const bool of_head = parameter.role == "head" || parameter.path.starts_with("transform.");
    if (parameter.is_matrix && !of_head && parameter.role != "embedding")
      throw Error(ErrorKind::input,
                  fmt::format("{} is no tensor of {} by itself, and the options change it",
                              parameter.path, code_.model),
                  after_.naming.name,
                  "--names torch writes the plan under the program's own paths");
    code_.unnamed.push_back(parameter.path);
  }

  /// The parts share the axis in the plan's proportions.
  void refill(FilledTensor& to, const NamedTensor& tensor) {
    const Fill library = to.fills.front();
    if (to.shape.size() == tensor.shape.size()) to.axis = tensor.axis;
    const std::int64_t whole = to.shape.empty() ? 1 : to.shape[static_cast<std::size_t>(to.axis)];
    std::int64_t columns = 0;
    for (const std::size_t part : tensor.parts) columns += after_.plan.parameters[part].columns;
    to.fills.clear();
    for (const std::size_t part : tensor.parts) {
      const std::int64_t own = after_.plan.parameters[part].columns;
      if (tensor.parts.size() > 1 && whole * own % columns != 0)
        throw Error(ErrorKind::input,
                    fmt::format("{} of {} holds {} in other proportions than the plan", to.name,
                                code_.model, after_.plan.parameters[part].path),
                    "--target", "leave the options of the model out");
      to.roles.push_back(after_.plan.parameters[part].role);
      to.fills.push_back(
          changed(part, library, tensor.parts.size() == 1 ? whole : whole * own / columns));
    }
    repeat_rounds(to, tensor.rounds);
  }

  /// The library's own std times the factor by which the plan's changed: the fan that the library
  /// has and the plan has not (heads of another width) stays in it. A constant moves by as much as
  /// the plan's: gains are 1 + w in some libraries.
  Fill changed(std::size_t part, const Fill& library, std::int64_t length) const {
    const PlannedParameter& old = before_.plan.parameters[part];
    PlannedParameter made = after_.plan.parameters[part];
    if (is_kept(part)) {
      Fill same = library;
      same.length = length;
      return same;
    }
    const bool drawn = library.start != "constant";
    if (made.std == 0 && !drawn) made.mean += library.value - old.mean;
    const double ratio = drawn && old.std > 0 ? library.value / old.std : 1;
    if (made.std > 0 && std::fabs(ratio - 1) > rounding) {
      for (double* number : {&made.std, &made.bound, &made.untruncated_std}) *number *= ratio;
      made.formula = fmt::format("{} * ({})", ratio, made.formula);
    }
    return fill_of(made, length);
  }

  const NamedPlan& before_;
  const NamedPlan& after_;
  CodePlan& code_;
  std::map<std::string, FilledTensor*> tensors_;
};

/// A tensor, or a part of one, as a fill draws it.
void refill(LibraryTensor& tensor, const Fill& fill) {
  const bool is_drawn = fill.start != "constant" && fill.start != "zeros" && fill.start != "ones";
  tensor.distribution = is_drawn ? fill.start : "constant";
  tensor.mean = !is_drawn || fill.start == "normal" ? fill.numbers[0] : 0;
  tensor.std = is_drawn ? fill.value : 0;
  tensor.rule = fill.formula.empty() ? fmt::format("{}", fill.value) : fill.formula;
  tensor.draw = {fill.start, fill.numbers};
  tensor.rare = 0;
}

/// What is as the library has it stays.
void refill(LibraryTensor& tensor, const FilledTensor& filled_by) {
  const std::vector<Fill>& fills = filled_by.fills;
  if (fills == filled(tensor).fills) return;
  if (fills.size() == 1) return refill(tensor, fills.front());
  tensor.axis = filled_by.axis;
  for (std::size_t i = 0; i < filled_by.roles.size(); ++i) {
    LibraryTensor part = tensor;
    part.parts.clear();
    part.name = filled_by.roles[i];
    part.shape[static_cast<std::size_t>(tensor.axis)] = fills[i].length;
    if (fills[i].start != tensor.draw.kind || fills[i].numbers != tensor.draw.numbers)
      refill(part, fills[i]);
    tensor.parts.push_back(std::move(part));
  }
}

}  // namespace

CodePlan code_plan(const LibraryPlan& plan) {
  const LibraryModel& library = plan.library;
  CodePlan code;
  code.model = plan.model;
  code.summary = fmt::format("{} of {}, {} parameters in {} tensors", library.class_name,
                             library.library, entries_of(library), library.tensors.size());
  code.own_prefix = own_prefix(library);
  for (const LibraryTensor& tensor : library.tensors) code.tensors.push_back(filled(tensor));
  for (const LibraryTensor& tensor : library.tensors)
    for (const std::string& other : tensor.tied) {
      code.tensors.push_back(filled(tensor));
      code.tensors.back().name = other;
      code.tensors.back().may_be_absent = true;
    }
  find_indices(code.tensors);
  if (plan.changed) Changes(*plan.planned, *plan.changed, code).carry_over();
  return code;
}

}  // namespace export_room

namespace {

bool same_parameters(const InitPlan& a, const InitPlan& b) {
  const auto same = [](const PlannedParameter& x, const PlannedParameter& y) {
    return x.path == y.path && x.rows == y.rows && x.columns == y.columns;
  };
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), same);
}

}  // namespace

LibraryModel library_model(const LibraryPlan& plan) {
  using namespace export_room;
  LibraryModel model = plan.library;
  if (!plan.changed) return model;
  const CodePlan code = code_plan(plan);
  for (std::size_t i = 0; i < model.tensors.size(); ++i) refill(model.tensors[i], code.tensors[i]);
  model.variants.clear();
  return model;
}

std::optional<LibraryPlan> library_plan(const LibraryModel& library, const std::string& model,
                                        const ModelSpec* changed) {
  LibraryPlan plan{library, model, {}, {}};
  if (changed == nullptr) return plan;
  if (!library.spec) return std::nullopt;
  const std::optional<LibraryModel> sized = resized(library, *changed);
  if (!sized || !sized->spec) return std::nullopt;
  plan.library = *sized;
  const std::string& names = library.spec->init.names;
  plan.planned = named_plan(*plan.library.spec, model, Target::pytorch, names);
  plan.changed = named_plan(*changed, model, Target::pytorch, names);
  if (!same_parameters(plan.planned->plan, plan.changed->plan)) return std::nullopt;
  return plan;
}

}  // namespace scalecalc
