#include "graphs/constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "weights/half.hpp"

namespace scalecalc::graphs {
namespace {

constexpr std::size_t no_node = SIZE_MAX;
/// Entries that are looked up for one graph; each takes some 50 ns.
constexpr std::int64_t most_work = 2'000'000;
constexpr int deepest = 200;

using Binary = double (*)(double, double);

const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> known = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"rsub", [](double a, double b) { return b - a; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"eq", [](double a, double b) { return double(a == b); }},
      {"ne", [](double a, double b) { return double(a != b); }},
      {"lt", [](double a, double b) { return double(a < b); }},
      {"le", [](double a, double b) { return double(a <= b); }},
      {"gt", [](double a, double b) { return double(a > b); }},
      {"ge", [](double a, double b) { return double(a >= b); }},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"minimum", [](double a, double b) { return std::min(a, b); }},
      {"maximum", [](double a, double b) { return std::max(a, b); }},
      {"min", [](double a, double b) { return std::min(a, b); }},
      {"max", [](double a, double b) { return std::max(a, b); }},
      {"__and__", [](double a, double b) { return double(a != 0 && b != 0); }},
      {"__or__", [](double a, double b) { return double(a != 0 || b != 0); }},
      {"logical_and", [](double a, double b) { return double(a != 0 && b != 0); }},
      {"logical_or", [](double a, double b) { return double(a != 0 || b != 0); }},
      {"bitwise_and", [](double a, double b) { return double(a != 0 && b != 0); }},
      {"bitwise_or", [](double a, double b) { return double(a != 0 || b != 0); }}};
  return known;
}

using Unary = double (*)(double);

const std::map<std::string, Unary>& unaries() {
  static const std::map<std::string, Unary> known = {
      {"neg", [](double a) { return -a; }},
      {"logical_not", [](double a) { return double(a == 0); }},
      {"bitwise_not", [](double a) { return double(a == 0); }},
      {"abs", [](double a) { return std::fabs(a); }},
      {"log", [](double a) { return std::log(a); }},
      {"exp", [](double a) { return std::exp(a); }},
      {"sin", [](double a) { return std::sin(a); }},
      {"cos", [](double a) { return std::cos(a); }},
      {"reciprocal", [](double a) { return 1 / a; }}};
  return known;
}

/// The place in a tensor of these sizes that is broadcast to `index`.
Sizes broadcast(const Sizes& index, const Sizes& sizes) {
  Sizes place(sizes.size(), 0);
  for (std::size_t i = 0; i < sizes.size() && i < index.size(); ++i) {
    const std::size_t to = sizes.size() - 1 - i;
    place[to] = sizes[to] == 1 ? 0 : index[index.size() - 1 - i];
  }
  return place;
}

std::int64_t flat(const Sizes& index, const Sizes& sizes) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size() && i < index.size(); ++i) at = at * sizes[i] + index[i];
  return at;
}

Sizes unflat(std::int64_t at, const Sizes& sizes) {
  Sizes index(sizes.size(), 0);
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] <= 0) continue;
    index[i] = at % sizes[i];
    at /= sizes[i];
  }
  return index;
}

/// A dimension of `rank`, counted from the end where it is negative.
std::size_t dimension(const Node& node, const char* name, std::int64_t fallback, std::size_t rank) {
  const Argument* argument = node.find(name);
  std::int64_t value =
      argument != nullptr && !argument->integers.empty() ? argument->integers[0] : fallback;
  if (value < 0) value += static_cast<std::int64_t>(rank);
  return value < 0 ? SIZE_MAX : static_cast<std::size_t>(value);
}

double value_at(const char* bytes, const weights::Tensor& tensor, std::size_t at) {
  const auto as = [&]<class Number>(Number number) {
    std::memcpy(&number, bytes + at * sizeof number, sizeof number);
    return number;
  };
  if (tensor.dtype_name == "F64") return as(double{});
  if (tensor.dtype_name == "F32") return as(float{});
  if (tensor.dtype_name == "F16") return float_from_half(as(std::uint16_t{}));
  if (tensor.dtype_name == "BF16") return float_from_bfloat(as(std::uint16_t{}));
  if (tensor.dtype_name == "I64") return static_cast<double>(as(std::int64_t{}));
  if (tensor.dtype_name == "I32") return as(std::int32_t{});
  if (tensor.dtype_name == "I16") return as(std::int16_t{});
  if (tensor.dtype_name == "I8") return as(std::int8_t{});
  return as(std::uint8_t{});  // U8, BOOL
}

}  // namespace

Constants::Constants(const Program& program, const weights::ZipArchive& archive)
    : program_(program),
      archive_(archive),
      is_constant_(program.tensors.size(), false),
      maker_(program.tensors.size(), no_node),
      targets_(program.tensors.size()) {
  std::map<std::string, std::string> first;  // of several names, as named_parameters() has it
  for (const Input& input : program.inputs) {
    const auto tied = program.weights.tied.find(input.target);
    const std::string& stored = tied == program.weights.tied.end() ? input.target : tied->second;
    targets_[input.tensor] = input.kind == Input::Kind::parameter
                                 ? first.emplace(stored, input.target).first->second
                                 : input.target;
    is_constant_[input.tensor] =
        input.kind == Input::Kind::buffer || input.kind == Input::Kind::constant;
  }
  static const std::set<std::string> of_shape = {"new_ones",  "new_zeros",  "new_full",
                                                 "ones_like", "zeros_like", "full_like"};
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    bool is_constant = true;
    if (of_shape.count(node.operation) == 0)
      for (const Argument& argument : node.arguments)
        for (const auto& tensor : argument.tensors)
          is_constant = is_constant && (!tensor || is_constant_[*tensor]);
    for (const std::size_t output : node.outputs) {
      maker_[output] = i;
      is_constant_[output] = is_constant;
    }
  }
}

std::vector<std::size_t> Constants::sources(std::size_t tensor) const {
  std::set<std::size_t> seen, found;
  std::vector<std::size_t> open = {tensor};
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (maker_[next] == no_node) {
      found.insert(next);
      continue;
    }
    for (const Argument& argument : program_.nodes[maker_[next]].arguments)
      for (const auto& one : argument.tensors)
        if (one) open.push_back(*one);
  }
  return {found.begin(), found.end()};
}

const std::vector<double>& Constants::values(std::size_t tensor, std::size_t most) const {
  const auto [place, is_new] = read_.try_emplace(tensor);
  if (!is_new) return place->second;
  std::string name = targets_[tensor];
  const auto tied = program_.weights.tied.find(name);
  if (tied != program_.weights.tied.end()) name = tied->second;
  for (const auto* list : {&program_.weights.weights, &program_.weights.constants})
    for (const weights::Tensor& known : *list) {
      if (known.name != name || known.shape != program_.tensors[tensor].sizes) continue;
      const auto count = static_cast<std::size_t>(known.elements);
      const std::size_t bytes = known.end - known.begin;
      if (count == 0 || count > most || bytes < count || bytes % count != 0 || bytes / count > 8)
        continue;
      std::string content(bytes, '\0');
      archive_.read(known.begin, bytes, content.data());
      for (std::size_t i = 0; i < count; ++i)
        place->second.push_back(value_at(content.data(), known, i));
      return place->second;
    }
  return place->second;
}

std::optional<double> Constants::at(std::size_t tensor, const Sizes& index) const {
  if (++work_ > most_work || depth_ > deepest || !is_constant_[tensor]) return std::nullopt;
  const Sizes& sizes = program_.tensors[tensor].sizes;
  if (index.size() != sizes.size()) return std::nullopt;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (index[i] < 0 || index[i] >= sizes[i]) return std::nullopt;
  if (maker_[tensor] == no_node) {
    const std::vector<double>& known = values(tensor);
    const auto place = static_cast<std::size_t>(flat(index, sizes));
    if (place >= known.size()) return std::nullopt;
    return known[place];
  }
  ++depth_;
  const std::optional<double> found = of_node(program_.nodes[maker_[tensor]], tensor, index);
  --depth_;
  return found;
}

std::optional<double> Constants::operand(const Node& node, std::size_t argument,
                                         const Sizes& index) const {
  if (argument >= node.arguments.size()) return std::nullopt;
  const Argument& given = node.arguments[argument];
  if (given.tensors.size() == 1 && given.tensors[0])
    return at(*given.tensors[0], broadcast(index, program_.tensors[*given.tensors[0]].sizes));
  if (given.numbers.size() == 1) return given.numbers[0];
  if (given.flag) return *given.flag ? 1.0 : 0.0;
  return std::nullopt;
}

std::optional<double> Constants::of_node(const Node& node, std::size_t output,
                                         const Sizes& index) const {
  if (node.outputs.size() != 1 || node.outputs[0] != output) return std::nullopt;
  const std::string operation = node.operation;
  for (const auto& way : {&Constants::filled, &Constants::pointwise, &Constants::through_view,
                          &Constants::along, &Constants::gathered})
    if (const auto found = (this->*way)(node, operation, index)) return found;
  return std::nullopt;
}

std::optional<double> Constants::filled(const Node& node, const std::string& operation,
                                        const Sizes& index) const {
  if (operation == "arange") {
    const Argument *start = node.find("start"), *step = node.find("step");
    const double first = start != nullptr && !start->numbers.empty() ? start->numbers[0] : 0;
    const double by = step != nullptr && !step->numbers.empty() ? step->numbers[0] : 1;
    return first + by * static_cast<double>(index.empty() ? 0 : index[0]);
  }
  if (operation.find("ones") != std::string::npos) return 1.0;
  if (operation.find("zeros") != std::string::npos) return 0.0;
  if (operation.find("full") == std::string::npos && operation != "scalar_tensor")
    return std::nullopt;
  const Argument* value = node.find(operation == "scalar_tensor" ? "s" : "fill_value");
  if (value == nullptr) return std::nullopt;
  if (value->flag) return *value->flag ? 1.0 : 0.0;
  if (value->numbers.empty()) return std::nullopt;
  return value->numbers[0];
}

std::optional<double> Constants::pointwise(const Node& node, const std::string& operation,
                                           const Sizes& index) const {
  static const std::set<std::string> same = {"to",         "_to_copy",        "clone",
                                             "contiguous", "detach",          "alias",
                                             "lift_fresh", "lift_fresh_copy", "type_as"};
  if (same.count(operation) > 0) {
    const auto a = operand(node, 0, index);
    if (!a || program_.tensors[node.outputs[0]].is_float) return a;
    return std::trunc(*a);
  }
  // Of two tensors, and not over a dimension.
  if ((operation == "min" || operation == "max") && !node.target.ends_with(".other"))
    return std::nullopt;
  if (const auto known = binaries().find(operation); known != binaries().end()) {
    const auto a = operand(node, 0, index), b = operand(node, 1, index);
    if (!a || !b) return std::nullopt;
    return known->second(*a, *b);
  }
  if (const auto known = unaries().find(operation); known != unaries().end()) {
    const auto a = operand(node, 0, index);
    if (!a) return std::nullopt;
    return known->second(*a);
  }
  if (operation == "where" || operation == "masked_fill") {
    const bool fills = operation == "masked_fill";
    const auto condition = operand(node, fills ? 1 : 0, index);
    if (!condition) return std::nullopt;
    if (fills) return operand(node, *condition != 0 ? 2 : 0, index);
    return operand(node, *condition != 0 ? 1 : 2, index);
  }
  if (operation == "tril" || operation == "triu") {
    const Argument* diagonal = node.find("diagonal");
    const std::int64_t by =
        diagonal != nullptr && !diagonal->integers.empty() ? diagonal->integers[0] : 0;
    if (index.size() < 2) return std::nullopt;
    const std::int64_t above = index.back() - index[index.size() - 2];
    const bool stays = operation == "tril" ? above <= by : above >= by;
    return stays ? operand(node, 0, index) : 0.0;
  }
  return std::nullopt;
}

/// Operations that give the same entries at other places.
std::optional<double> Constants::through_view(const Node& node, const std::string& operation,
                                              const Sizes& index) const {
  if (node.arguments.empty() || node.arguments[0].tensors.size() != 1 ||
      !node.arguments[0].tensors[0])
    return std::nullopt;
  const std::size_t from = *node.arguments[0].tensors[0];
  const Sizes& sizes = program_.tensors[from].sizes;
  const Sizes& own = program_.tensors[node.outputs[0]].sizes;
  if (operation == "expand") return at(from, broadcast(index, sizes));
  const bool is_reshaped = operation == "view" || operation == "reshape" ||
                           operation == "flatten" || operation == "unsqueeze" ||
                           operation == "squeeze" || operation == "_unsafe_view";
  if (is_reshaped) return at(from, unflat(flat(index, own), sizes));
  Sizes place = index;
  if (operation == "slice" || operation == "select") {
    const std::size_t dim = dimension(node, "dim", 0, sizes.size());
    if (dim >= sizes.size()) return std::nullopt;
    const Argument* start = node.find(operation == "slice" ? "start" : "index");
    const Argument* step = node.find("step");
    std::int64_t first = start != nullptr && !start->integers.empty() ? start->integers[0] : 0;
    if (first < 0) first = std::max<std::int64_t>(0, first + sizes[dim]);
    if (operation == "select") {
      place.insert(place.begin() + static_cast<std::ptrdiff_t>(std::min(dim, place.size())), first);
      return at(from, place);
    }
    const std::int64_t by = step != nullptr && !step->integers.empty() ? step->integers[0] : 1;
    if (place.size() <= dim || by <= 0 || first > sizes[dim]) return std::nullopt;
    if (place[dim] > (sizes[dim] - first) / by) return std::nullopt;
    place[dim] = first + place[dim] * by;
    return at(from, place);
  }
  if (operation == "transpose" || operation == "t") {
    const std::size_t a = dimension(node, "dim0", 0, sizes.size()),
                      b = dimension(node, "dim1", 1, sizes.size());
    if (a >= place.size() || b >= place.size()) return std::nullopt;
    std::swap(place[a], place[b]);
    return at(from, place);
  }
  if (operation != "permute") return std::nullopt;
  const Argument* dims = node.find("dims");
  if (dims == nullptr || dims->integers.size() != place.size()) return std::nullopt;
  for (std::size_t i = 0; i < place.size(); ++i) {
    std::int64_t to = dims->integers[i];
    if (to < 0) to += static_cast<std::int64_t>(place.size());
    if (to < 0 || to >= static_cast<std::int64_t>(place.size())) return std::nullopt;
    place[static_cast<std::size_t>(to)] = index[i];
  }
  return at(from, place);
}

/// Sums and differences along a dimension.
std::optional<double> Constants::along(const Node& node, const std::string& operation,
                                       const Sizes& index) const {
  const bool is_sum = operation == "cumsum";
  if ((!is_sum && operation != "diff") || node.arguments.empty() ||
      node.arguments[0].tensors.size() != 1 || !node.arguments[0].tensors[0])
    return std::nullopt;
  const std::size_t from = *node.arguments[0].tensors[0];
  const std::size_t dim = dimension(node, "dim", -1, index.size());
  if (dim >= index.size()) return std::nullopt;
  Sizes before = index;
  --before[dim];
  if (is_sum) {
    const auto key = std::pair{node.outputs[0], index};
    if (const auto known = sums_.find(key); known != sums_.end()) return known->second;
    double sum = 0;
    Sizes place = index;
    for (place[dim] = 0; place[dim] <= index[dim]; ++place[dim]) {
      const auto term = at(from, place);
      if (!term) return std::nullopt;
      sum += *term;
      sums_[{node.outputs[0], place}] = sum;
    }
    return sum;
  }
  const Argument* ahead = node.find("prepend");
  std::int64_t shift = 0;
  if (ahead != nullptr && ahead->tensors.size() == 1 && ahead->tensors[0]) {
    const Sizes& sizes = program_.tensors[*ahead->tensors[0]].sizes;
    if (dim >= sizes.size() || sizes[dim] != 1) return std::nullopt;
    shift = 1;
  }
  Sizes upper = index;
  upper[dim] += 1 - shift;
  Sizes lower = index;
  lower[dim] -= shift;
  const auto a = at(from, upper);
  const auto b = lower[dim] < 0 ? at(*ahead->tensors[0], Sizes(index.size(), 0)) : at(from, lower);
  if (!a || !b) return std::nullopt;
  return *a - *b;
}

/// Entries at places that other tensors say.
std::optional<double> Constants::gathered(const Node& node, const std::string& operation,
                                          const Sizes& index) const {
  if (operation == "gather") {
    if (node.arguments.size() < 3 || node.arguments[0].tensors.size() != 1 ||
        !node.arguments[0].tensors[0])
      return std::nullopt;
    const std::size_t dim = dimension(node, "dim", 0, index.size());
    const auto place = operand(node, 2, index);
    if (!place || dim >= index.size()) return std::nullopt;
    Sizes to = index;
    to[dim] = static_cast<std::int64_t>(*place);
    return at(*node.arguments[0].tensors[0], to);
  }
  if (operation != "index" || node.arguments.size() < 2 || node.arguments[0].tensors.size() != 1 ||
      !node.arguments[0].tensors[0])
    return std::nullopt;
  const std::size_t from = *node.arguments[0].tensors[0];
  const auto& places = node.arguments[1].tensors;
  if (places.size() != program_.tensors[from].sizes.size()) return std::nullopt;
  Sizes to;
  for (const auto& one : places) {
    if (!one) return std::nullopt;
    const auto place = at(*one, broadcast(index, program_.tensors[*one].sizes));
    if (!place) return std::nullopt;
    to.push_back(static_cast<std::int64_t>(*place));
    if (to.back() < 0) to.back() += program_.tensors[from].sizes[to.size() - 1];
  }
  return at(from, to);
}

}  // namespace scalecalc::graphs
