#include "architectures/expand.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "architectures/describe.hpp"
#include "architectures/draw.hpp"
#include "architectures/scope.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

constexpr std::size_t kMostTensors = 1000000;
constexpr int kDeepestModule = 32;

using Shape = std::vector<std::int64_t>;

class Expander {
 public:
  Expander(const Family& family, bool is_strict, std::vector<LibraryTensor>& out)
      : family_(family), is_strict_(is_strict), out_(out) {}

  void module(const std::string& name, const std::string& prefix, const Scope& scope) {
    if (++nested_ > kDeepestModule) fail("modules are nested too deep", name);
    for (const Entry& entry : family_.modules.at(name).entries) paths(entry, 0, prefix, scope);
    --nested_;
  }

 private:
  [[noreturn]] void fail(const std::string& problem, const std::string& where) const {
    throw Error(ErrorKind::input, problem, family_.model_type + ": " + where);
  }

  /// Every path of an entry, its loops written out from the part `at` on.
  void paths(const Entry& entry, std::size_t at, const std::string& path, const Scope& scope) {
    const PathPart& part = entry.path[at];
    const std::string here = path + part.text;
    if (at + 1 == entry.path.size()) return alternative(entry, here, scope);
    if (!part.values) {
      const Value* value = scope.find(part.variable);
      if (value == nullptr) fail("there is no " + part.variable, here);
      return paths(entry, at + 1, here + written(*value), scope);
    }
    Scope inner = scope;
    const Value values = part.values->evaluate(scope.lookup());
    const std::int64_t count = values.is_array() ? static_cast<std::int64_t>(values.size())
                                                 : part.values->count(scope.lookup());
    const std::size_t before = out_.size();
    for (std::int64_t i = 0; i < count; ++i) {
      inner.locals[part.variable] =
          values.is_array() ? values[static_cast<std::size_t>(i)] : Value(i);
      paths(entry, at + 1, here + written(inner.locals[part.variable]), inner);
      if (tells_too_many(static_cast<double>(out_.size() - before), i, static_cast<double>(count)))
        fail("more than a million tensors", here + written(inner.locals[part.variable]));
    }
  }

  /// What the first turns of a loop have made tells how much all of them would: nothing more has to
  /// be made where the others are no less than half of the first, or, as blocks that differ do so
  /// in short periods, as much each as the first 256 in the mean.
  static bool tells_too_many(double made, std::int64_t turn, double count) {
    constexpr std::int64_t telling = 256;
    const double total = made * count / static_cast<double>(turn + 1);
    return (turn == 0 && total > 2.0 * kMostTensors) ||
           (turn == telling - 1 && total > 1.0 * kMostTensors);
  }

  void alternative(const Entry& entry, const std::string& path, const Scope& scope) {
    for (const EntryText& text : entry.alternatives)
      if (!text.condition || text.condition->flag(scope.lookup())) return make(text, path, scope);
  }

  /// An empty path puts what is made beside the tensors of the module itself.
  void make(const EntryText& entry, std::string path, const Scope& scope) {
    if (path.ends_with('.')) path.pop_back();
    const Expression& call = entry.call;
    const auto inner = family_.modules.find(call.name());
    if (inner != family_.modules.end()) {
      const std::vector<std::string>& names = inner->second.arguments;
      if (names.size() != call.operands().size()) fail("wrong number of arguments", call.text());
      Scope own{scope.keys};
      for (std::size_t i = 0; i < names.size(); ++i)
        own.locals[names[i]] = call.operands()[i].evaluate(scope.lookup());
      return module(call.name(), path.empty() ? path : path + ".", own);
    }
    if (call.name() == "within") {  // a module that reads the config inside the config
      const Expression& of = call.operands().at(1);
      if (family_.modules.count(of.name()) == 0) fail("there is no such module", of.text());
      const Value config = call.operands()[0].evaluate(scope.lookup());
      return module(of.name(), path.empty() ? path : path + ".", Scope{keys_of(config)});
    }
    if (call.name() == "tied") return tie(path, call, scope);
    layer(entry, path, scope);
  }

  /// Another name of an earlier tensor, which is named from the beginning.
  void tie(const std::string& path, const Expression& call, const Scope& scope) {
    const std::string of = call.operands().at(0).evaluate(scope.lookup()).get<std::string>();
    const auto first = std::find_if(out_.begin(), out_.end(),
                                    [&](const LibraryTensor& tensor) { return tensor.name == of; });
    if (first == out_.end()) fail("there is no tensor " + of, path);
    first->tied.push_back(path);
  }

  void layer(const EntryText& entry, const std::string& path, Scope scope) {
    const Expression& call = entry.call;
    const std::string& kind = call.name();
    const auto given = [&](std::size_t i) { return call.operands().size() > i; };
    const auto size = [&](std::size_t i) { return call.operands().at(i).count(scope.lookup()); };
    const auto flag = [&](std::size_t i, bool otherwise) {
      return given(i) ? call.operands()[i].flag(scope.lookup()) : otherwise;
    };
    if (kind == "parameter") {
      Shape shape;
      for (std::size_t i = 0; i < call.operands().size(); ++i) shape.push_back(size(i));
      return add(path, std::move(shape), draw(entry, "parameter", 0), scope);
    }
    if (kind == "norm" || kind == "rmsnorm") {
      add(path + ".weight", {size(0)}, draw(entry, kind, 0), scope);
      if (kind == "norm" && flag(1, true))
        add(path + ".bias", {size(0)}, draw(entry, kind, 1), scope);
      return;
    }
    if (kind == "embedding") return embedding(entry, path, size(0), size(1), given(2), scope);
    // Maps: the weight, and a bias of their outputs.
    std::int64_t in = size(0), out = size(1);
    Shape shape;
    std::size_t bias = 2;
    std::int64_t places = 1;
    if (kind == "linear") {
      shape = {out, in};
    } else if (kind == "transposed_linear") {
      shape = {in, out};
    } else if (kind == "conv1d" || kind == "conv2d" || kind == "conv3d") {
      const std::size_t axes = static_cast<std::size_t>(kind[4] - '0');
      const std::int64_t groups = given(4) ? size(4) : 1;
      if (groups == 0 || in % groups != 0) fail("the groups do not divide the inputs", path);
      in /= groups;
      shape = {out, in};
      for (std::size_t axis = 0; axis < axes; ++axis)
        shape.push_back(kernel_size(call, axis, scope));
      for (std::size_t axis = 2; axis < shape.size(); ++axis) places *= shape[axis];
      bias = 3;
    } else {
      fail("there is no such module", call.text());
    }
    scope.locals["fan_in"] = in * places;
    scope.locals["fan_out"] = out * places;
    add(path + ".weight", shape, draw(entry, kind, 0), scope);
    if (flag(bias, true)) add(path + ".bias", {out}, draw(entry, kind, 1), scope);
  }

  /// A kernel is one number, or one for each axis.
  std::int64_t kernel_size(const Expression& call, std::size_t axis, const Scope& scope) const {
    const Expression& kernel = call.operands().at(2);
    const Value sizes = kernel.evaluate(scope.lookup());
    if (!sizes.is_array()) return kernel.count(scope.lookup());
    if (axis >= sizes.size() || !sizes[axis].is_number_unsigned())
      fail(kernel.text() + " is " + sizes.dump(), "a whole number for each axis");
    return sizes[axis].get<std::int64_t>();
  }

  /// The row of a padding index is set to zero.
  void embedding(const EntryText& entry, const std::string& path, std::int64_t rows,
                 std::int64_t columns, bool has_padding, const Scope& scope) {
    add(path + ".weight", {rows, columns}, draw(entry, "embedding", 0), scope);
    if (!has_padding || out_.back().std == 0 || rows == 0) return;
    const Value padding = entry.call.operands()[2].evaluate(scope.lookup());
    if (!padding.is_number_integer()) return;
    LibraryTensor& tensor = out_.back();
    const auto row = padding.get<std::int64_t>();
    if (row < -rows || row >= rows) {
      if (!is_strict_) return;
      fail("row " + padding.dump() + " is none of the embedding", path);
    }
    const double share = 1 - 1 / static_cast<double>(rows);
    tensor.std =
        std::sqrt(share * (tensor.std * tensor.std + tensor.mean * tensor.mean * (1 - share)));
    tensor.mean *= share;
    tensor.zero_row = row < 0 ? row + rows : row;  // counted from the end, as in Python
    tensor.rule += ", row " + padding.dump() + " zero";
  }

  /// The entry's own draw of the weight (0) or the bias (1), or that of its kind.
  const Expression& draw(const EntryText& entry, const std::string& kind, std::size_t which) const {
    if (which < entry.draws.size()) return entry.draws[which];
    const auto found = family_.draws.find(kind);
    if (found == family_.draws.end() || which >= found->second.size())
      fail("no draw is told of its " + std::string(which == 0 ? "weight" : "bias"),
           entry.call.text());
    return found->second[which];
  }

  void add(const std::string& name, Shape shape, const Expression& rule, const Scope& scope) {
    if (out_.size() >= kMostTensors) fail("more than a million tensors", name);
    const Draw drawn = draw_of(rule, scope.lookup());
    out_.push_back({name,
                    std::move(shape),
                    drawn.distribution,
                    drawn.mean,
                    drawn.std,
                    rule.text(),
                    {},
                    drawn.entries,
                    {},
                    drawn.rare});
  }

  const Family& family_;
  bool is_strict_;
  std::vector<LibraryTensor>& out_;
  int nested_ = 0;
};

}  // namespace

std::vector<LibraryTensor> expand(const Family& family, const std::string& class_name,
                                  const Value& config, bool is_strict) {
  std::vector<LibraryTensor> tensors;
  Expander(family, is_strict, tensors).module(class_name, "", Scope{keys_of(config)});
  return tensors;
}

}  // namespace scalecalc::architectures
